/** How much of the process's memory the certificates of Connections may take: TLS keeps them about ninefold. */
import { hash } from "node:crypto";
import type { ClientSettings } from "../../connections/client-settings.ts";
import { parseConnectionKey } from "../../connections/connection-key.ts";

/** In characters of PEM. Enough for a bundle of all public CAs and some certificates. */
const MOST_OF_NAMESPACE = 393_216;
/** If all Connections use this much, a namespace gets no more than its share. */
const MOST_OF_ALL = 4 * 2 ** 20;
const LEAST_OF_NAMESPACE = 32_768;

type Certified = Pick<ClientSettings, "caBundle" | "clientCertificate">;
/** Characters by a hash of the certificates. */
type Certificates = ReadonlyMap<string, number>;

export class CertificateShares {
  readonly #byConnection = new Map<string, Certificates>();

  /** The connection has a client with these settings from now on. */
  note(key: string, settings: Certified): void {
    const certificates = certificatesOf(settings);
    if (certificates.size === 0) this.#byConnection.delete(key);
    else this.#byConnection.set(key, certificates);
  }

  forget(key: string): void {
    this.#byConnection.delete(key);
  }

  /**
   * Whether the certificates of a Connection fit into what its namespace may use. Equal certificates of a namespace count
   * once. Those of ClusterConnections always fit, because an administrator chose them.
   */
  fits(key: string, settings: Certified): boolean {
    const { kind, key: object } = parseConnectionKey(key);
    const own = certificatesOf(settings);
    if (kind === "ClusterConnection" || own.size === 0) return true;
    const others = [...this.#byConnection].filter(([other]) => other !== key);
    const inNamespace = others.filter(
      ([other]) => parseConnectionKey(other).key.namespace === object.namespace,
    );
    const used = sum([...inNamespace.map(([, each]) => each), own]);
    if (used > MOST_OF_NAMESPACE) return false;
    const all = sum([...others.map(([, each]) => each), own]);
    return all <= MOST_OF_ALL || used <= LEAST_OF_NAMESPACE;
  }
}

function certificatesOf({ caBundle, clientCertificate }: Certified): Certificates {
  const texts = [caBundle, clientCertificate?.chain].filter((text) => text !== undefined);
  return new Map(texts.map((text) => [hash("sha256", text), text.length]));
}

function sum(all: readonly Certificates[]): number {
  const distinct = new Map(all.flatMap((each) => [...each]));
  return [...distinct.values()].reduce((total, characters) => total + characters, 0);
}
