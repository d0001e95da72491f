/** The account that Kubernetes mounts into a Pod. Read without client-node: a Pod starts faster and stays smaller. */
import { readFile } from "node:fs/promises";
import { getCACertificates } from "node:tls";
import type { Clock } from "../../util/time.ts";
import { CredentialSource, type KubeEndpoint } from "./credentials.ts";

const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface PodAccountOptions {
  /** Host and port of the API server, as the Pod's environment names them. */
  readonly server: { readonly host: string; readonly port: string };
  readonly clock: Clock;
  /** Where the Pod's files are mounted, below this folder. For tests. */
  readonly rootDirectory?: string;
}

/** `undefined` where no account is mounted. */
export async function loadPodAccount(
  options: PodAccountOptions,
): Promise<KubeEndpoint | undefined> {
  const { server, clock, rootDirectory = "" } = options;
  const read = async (file: string) =>
    (await readFile(`${rootDirectory}${FOLDER}/${file}`, "utf8")).trim();
  const isMounted = await read("token").then(
    () => true,
    () => false,
  );
  if (!isMounted) return undefined;
  const source = new CredentialSource(async () => {
    const [token, ca] = await Promise.all([read("token"), read("ca.crt")]);
    return {
      // An explicit authority replaces every other one, also those of NODE_EXTRA_CA_CERTS.
      tls: { ca: [ca, ...getCACertificates("extra")], insecure: false },
      headers: { authorization: `Bearer ${token}` },
    };
  }, clock);
  // Broken files are found now rather than at the first call.
  await source.get();
  const host = server.host.includes(":") ? `[${server.host}]` : server.host;
  return {
    server: `https://${host}:${server.port}`,
    proxyUrl: undefined,
    namespace: await read("namespace").catch(() => undefined),
    credentials: (rejected) => source.get(rejected),
  };
}
