/** What requests to the API server are made with, read seldom and for all callers together. */
import { isDeepStrictEqual } from "node:util";
import { type Clock, SECOND } from "../../util/time.ts";

export interface TlsMaterial {
  readonly ca?: readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  readonly serverName?: string;
  readonly insecure: boolean;
}

/** What a connection and its requests are made with, as files and plugins had it a moment ago. */
export interface KubeCredentials {
  /** One object for as long as nothing of it changes: connections that were made with it stay in use. */
  readonly tls: TlsMaterial;
  /** `authorization` and, rarely, impersonation. Secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An API server, and how to make oneself known to it. */
export interface KubeEndpoint {
  /** Without a trailing slash. */
  readonly server: string;
  /** An HTTP proxy named in the kubeconfig; the environment's proxies do not count for the API server. */
  readonly proxyUrl: string | undefined;
  /** Namespace of the context, or of the Pod. */
  readonly namespace: string | undefined;
  /**
   * Read again every minute: kubelet renews tokens and authorities in place. `rejected` names the answer
   * that got a 401, and has everything read again at once unless that has happened meanwhile.
   */
  credentials(rejected?: KubeCredentials): Promise<KubeCredentials>;
}

const KEEP_MS = 60 * SECOND;

/** Keeps credentials for a minute, and reads them again at once when they were refused. */
export class CredentialSource {
  readonly #read: (isRejected: boolean) => Promise<KubeCredentials>;
  readonly #clock: Clock;
  #known: KubeCredentials | undefined;
  #readAt = 0;
  #reading: Promise<KubeCredentials> | undefined;

  constructor(read: (isRejected: boolean) => Promise<KubeCredentials>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  get(rejected?: KubeCredentials): Promise<KubeCredentials> {
    const known = this.#known;
    const isFresh = known !== undefined && this.#clock.monotonic() - this.#readAt < KEEP_MS;
    // Many requests are refused at once when a token expires; one of them reads.
    if (isFresh && known !== rejected) return Promise.resolve(known);
    this.#reading ??= this.#renew(rejected !== undefined).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #renew(isRejected: boolean): Promise<KubeCredentials> {
    try {
      this.#known = keepTls(await this.#read(isRejected), this.#known);
    } catch (error) {
      // A file that is being replaced is there again in a minute, and the old token may still do.
      if (this.#known === undefined || isRejected) throw error;
    }
    this.#readAt = this.#clock.monotonic();
    return this.#known;
  }
}

function keepTls(read: KubeCredentials, known: KubeCredentials | undefined): KubeCredentials {
  const isKnown = known !== undefined && isDeepStrictEqual(read.tls, known.tls);
  return isKnown ? { ...read, tls: known.tls } : read;
}
