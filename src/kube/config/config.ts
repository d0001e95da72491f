/**
 * Finds the API server and the credentials for it. The only file that uses @kubernetes/client-node at run time, with a
 * dynamic import, because loading it takes a third of a second and 60 MB. Its HTTP client is not used, because it opens
 * a connection per request.
 */
import { existsSync } from "node:fs";
import { delimiter } from "node:path";
import { getCACertificates } from "node:tls";
import type { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../util/time.ts";
import { CredentialSource, type KubeCredentials, type KubeEndpoint } from "./credentials.ts";
import { loadPodAccount } from "./pod-account.ts";

interface KubeEndpointOptions {
  /** Path of a kubeconfig. Absent: the Pod's ServiceAccount, otherwise the default kubeconfig. */
  readonly kubeconfig?: string | undefined;
  /** The environment's KUBECONFIG, used if `kubeconfig` is absent. */
  readonly kubeconfigList?: string | undefined;
  readonly context?: string | undefined;
  /** Host and port of the API server if the environment is that of a Pod. */
  readonly podServer?: { readonly host: string; readonly port: string } | undefined;
  readonly clock: Clock;
  /** The folder under which the Pod's files are mounted; for tests. */
  readonly rootDirectory?: string;
}

/** Rejects with the reason if there is no usable configuration. */
export async function loadKubeEndpoint(options: KubeEndpointOptions): Promise<KubeEndpoint> {
  const { kubeconfig, podServer, clock, rootDirectory = "" } = options;
  const pod =
    kubeconfig === undefined && podServer !== undefined
      ? await loadPodAccount({ server: podServer, clock, rootDirectory })
      : undefined;
  return pod ?? loadKubeconfig(options);
}

/** The names of a kubeconfig's contexts; empty if the kubeconfig cannot be read. */
export async function contextNames(
  options: Pick<KubeEndpointOptions, "kubeconfig" | "kubeconfigList">,
): Promise<readonly string[]> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  try {
    return readKubeconfig(KubeConfig, options)
      .getContexts()
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

async function loadKubeconfig(options: KubeEndpointOptions): Promise<KubeEndpoint> {
  const load = await loaderOf(options);
  let config = load();
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error("the kubeconfig names no cluster for its current context");
  const { proxyUrl } = cluster;
  if (proxyUrl !== undefined && !/^https?:/.test(proxyUrl)) {
    throw new Error("the kubeconfig's proxy-url is not an HTTP proxy");
  }
  const source = new CredentialSource((isRejected) => {
    // Only a new KubeConfig drops the cached tokens of client-node. A plugin's token has its own expiry, so with a
    // plugin the kubeconfig is loaded again only after a refused token.
    if (isRejected || !hasPlugin(config)) config = load();
    return readCredentials(config);
  }, options.clock);
  // Find broken files now, not at the first call.
  await source.get();
  const context = config.getContextObject(config.getCurrentContext());
  return {
    server: cluster.server.replace(/\/+$/, ""),
    proxyUrl,
    namespace: context?.namespace?.trim(),
    credentials: (rejected) => source.get(rejected),
  };
}

async function loaderOf(options: KubeEndpointOptions): Promise<() => KubeConfig> {
  const { context } = options;
  const { KubeConfig } = await import("@kubernetes/client-node");
  return () => {
    let config: KubeConfig;
    try {
      config = readKubeconfig(KubeConfig, options);
    } catch (error) {
      throw unreadable(error);
    }
    if (context !== undefined) config.setCurrentContext(context);
    return config;
  };
}

/**
 * The given file; otherwise the listed files, merged as kubectl does: files that do not exist are skipped, and
 * of several entries with one name, the first counts.
 */
function readKubeconfig(
  Config: typeof KubeConfig,
  { kubeconfig: file, kubeconfigList: list = "" }: Parameters<typeof contextNames>[0],
): KubeConfig {
  const config = new Config();
  const listed = list.split(delimiter).filter((name) => name !== "");
  if (file === undefined && listed.length === 0) {
    config.loadFromDefault();
    return config;
  }
  const files = file === undefined ? listed.filter((name) => existsSync(name)) : [file];
  if (files.length === 0)
    throw Object.assign(new Error(`no file of KUBECONFIG exists: ${list}`), { code: "ENOENT" });
  for (const [index, name] of files.entries()) {
    if (index === 0) config.loadFromFile(name);
    else addMissing(config, new Config(), name);
  }
  return config;
}

function addMissing(config: KubeConfig, other: KubeConfig, file: string): void {
  other.loadFromFile(file);
  for (const each of other.getClusters())
    if (config.getCluster(each.name) === null) config.addCluster(each);
  for (const each of other.getUsers()) if (config.getUser(each.name) === null) config.addUser(each);
  for (const each of other.getContexts())
    if (config.getContextObject(each.name) === null) config.addContext(each);
  if (!config.getCurrentContext()) config.setCurrentContext(other.getCurrentContext());
}

/** A parser's message quotes the lines around the mistake, which may contain a token. */
function unreadable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error("the kubeconfig cannot be read");
  if ("code" in error) return error;
  return new Error(`the kubeconfig cannot be read (${error.name})`);
}

function hasPlugin(config: KubeConfig): boolean {
  const user = config.getCurrentUser();
  // client-node's name for a plain token file.
  const isTokenFile = user?.authProvider?.name === "tokenFile";
  return user?.exec !== undefined || (user?.authProvider !== undefined && !isTokenFile);
}

/** The fields that client-node sets; its own type is that of node:https. */
interface HttpsOptions {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  passphrase?: string;
  servername?: string;
  rejectUnauthorized?: boolean;
  headers?: Record<string, string>;
  auth?: string;
}

async function readCredentials(config: KubeConfig): Promise<KubeCredentials> {
  const options: HttpsOptions = {};
  await config.applyToHTTPSOptions(options as Parameters<KubeConfig["applyToHTTPSOptions"]>[0]);
  const { ca, cert, key, passphrase, servername, rejectUnauthorized, auth, headers = {} } = options;
  return {
    tls: {
      // An explicit CA replaces every other CA, even those of NODE_EXTRA_CA_CERTS, so add these again.
      ...(ca === undefined ? {} : { ca: [ca.toString(), ...getCACertificates("extra")] }),
      ...(cert === undefined ? {} : { cert: cert.toString() }),
      ...(key === undefined ? {} : { key: key.toString() }),
      ...(passphrase === undefined ? {} : { passphrase }),
      ...(servername === undefined ? {} : { serverName: servername }),
      insecure: rejectUnauthorized === false,
    },
    headers: cleanHeaders(headers, auth),
  };
}

/** Token files end with a newline, which is not allowed in headers. */
function cleanHeaders(
  headers: Readonly<Record<string, string>>,
  auth: string | undefined,
): Readonly<Record<string, string>> {
  const clean = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]);
  const basic = auth === undefined ? [] : [["authorization", `Basic ${btoa(auth)}`]];
  return Object.fromEntries([...basic, ...clean]);
}
