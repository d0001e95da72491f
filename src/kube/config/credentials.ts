/** Credentials for the API server, cached for all callers. */

import { isDeepStrictEqual } from "node:util";
import type { Lookup } from "../../http/resolver.ts";
import { type Clock, SECOND } from "../../util/time.ts";

export interface TlsMaterial {
  readonly ca?: readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  readonly serverName?: string;
  readonly insecure: boolean;
}

/** The settings of a connection and its requests, as last read from files and plugins. */
export interface KubeCredentials {
  /** The same object as long as the settings do not change, so that existing connections stay in use. */
  readonly tls: TlsMaterial;
  /** `authorization` and, rarely, impersonation. Secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An API server and the credentials for it. */
export interface KubeEndpoint {
  /** Without a trailing slash. */
  readonly server: string;
  /** The HTTP proxy of the kubeconfig; the environment's proxies are not used for the API server. */
  readonly proxyUrl: string | undefined;
  /** Namespace of the context, or of the Pod. */
  readonly namespace: string | undefined;
  /** Resolves the names of the server and the proxy; absent: as the machine does. */
  readonly lookup?: Lookup;
  /**
   * Read again after a minute, because the kubelet renews tokens and CAs in place. `rejected` are the credentials that
   * got a 401: they are read again at once, unless another caller has done so meanwhile.
   */
  credentials(rejected?: KubeCredentials): Promise<KubeCredentials>;
}

const KEEP_MS = 60 * SECOND;

/** Caches credentials for a minute, and reads them again at once if they were refused. */
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
    // When a token expires, many requests are refused at once; they share one read.
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
      // A file that is being replaced is readable again in a minute, and the old token may still be valid.
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
