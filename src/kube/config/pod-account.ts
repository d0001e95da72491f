/** The ServiceAccount that Kubernetes mounts into a Pod. Read without client-node, to save start time and memory. */
import { readFile } from "node:fs/promises";
import { getCACertificates } from "node:tls";
import type { Clock } from "../../util/time.ts";
import { CredentialSource, type KubeEndpoint } from "./credentials.ts";

const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

interface PodAccountOptions {
  /** Host and port of the API server, from the Pod's environment. */
  readonly server: { readonly host: string; readonly port: string };
  readonly clock: Clock;
  /** The folder under which the Pod's files are mounted; for tests. */
  readonly rootDirectory?: string;
}

/** `undefined` if no ServiceAccount is mounted. */
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
      // An explicit CA replaces every other CA, even those of NODE_EXTRA_CA_CERTS, so add these again.
      tls: { ca: [ca, ...getCACertificates("extra")], insecure: false },
      headers: { authorization: `Bearer ${token}` },
    };
  }, clock);
  // Find broken files now, not at the first call.
  await source.get();
  const host = server.host.includes(":") ? `[${server.host}]` : server.host;
  return {
    server: `https://${host}:${server.port}`,
    proxyUrl: undefined,
    namespace: await read("namespace").catch(() => undefined),
    credentials: (rejected) => source.get(rejected),
  };
}
