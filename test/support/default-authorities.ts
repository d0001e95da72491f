import { getCACertificates, setDefaultCACertificates } from "node:tls";

/** Has this process trust an authority besides the system's, until disposed of. */
export function trustByDefault(certificate: string): Disposable {
  const system = getCACertificates("default");
  setDefaultCACertificates([...system, certificate]);
  return { [Symbol.dispose]: () => setDefaultCACertificates(system) };
}
