/**
 * Finds the API server and proves who we are. The only run-time user of @kubernetes/client-node, and a
 * dynamic one: loading it costs a third of a second and 60 MB. Its request path stays unused, since it opens a
 * connection per request.
 */
import { getCACertificates } from "node:tls";
import type { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../util/time.ts";
import { CredentialSource, type KubeCredentials, type KubeEndpoint } from "./credentials.ts";
import { loadPodAccount } from "./pod-account.ts";

export interface KubeEndpointOptions {
  /** Path of a kubeconfig. Without it: the Pod's own account, else the default kubeconfig. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Host and port of the API server, where the environment is that of a Pod. */
  readonly podServer?: { readonly host: string; readonly port: string } | undefined;
  readonly clock: Clock;
  /** Where the Pod's files are mounted, below this folder. For tests. */
  readonly rootDirectory?: string;
}

/** Rejects where there is no usable configuration, saying why. */
export async function loadKubeEndpoint(options: KubeEndpointOptions): Promise<KubeEndpoint> {
  const { kubeconfig, podServer, clock, rootDirectory = "" } = options;
  const pod =
    kubeconfig === undefined && podServer !== undefined
      ? await loadPodAccount({ server: podServer, clock, rootDirectory })
      : undefined;
  return pod ?? loadKubeconfig(options);
}

/** The names of a kubeconfig's contexts; none if it cannot be read. */
export async function contextNames(kubeconfig: string | undefined): Promise<readonly string[]> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
    return config.getContexts().map(({ name }) => name);
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
    // A new KubeConfig forgets every cached token, which client-node offers no other way to do. A plugin's
    // token has an expiry of its own, so it is asked again only when the token was refused.
    if (isRejected || !hasPlugin(config)) config = load();
    return readCredentials(config);
  }, options.clock);
  // Broken files are found now rather than at the first call.
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
  const { kubeconfig, context } = options;
  const { KubeConfig } = await import("@kubernetes/client-node");
  return () => {
    const config = new KubeConfig();
    try {
      if (kubeconfig !== undefined) config.loadFromFile(kubeconfig);
      else config.loadFromDefault();
    } catch (error) {
      throw unreadable(error);
    }
    if (context !== undefined) config.setCurrentContext(context);
    return config;
  };
}

/** A parser's message quotes the lines around the mistake, which may hold a token. */
function unreadable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error("the kubeconfig cannot be read");
  if ("code" in error) return error;
  return new Error(`the kubeconfig cannot be read (${error.name})`);
}

function hasPlugin(config: KubeConfig): boolean {
  const user = config.getCurrentUser();
  // client-node's own name for a plain token file.
  const isTokenFile = user?.authProvider?.name === "tokenFile";
  return user?.exec !== undefined || (user?.authProvider !== undefined && !isTokenFile);
}

/** What client-node fills in; its own type is that of node:https. */
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
      // An explicit authority replaces every other one, also those of NODE_EXTRA_CA_CERTS.
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

/** Token files end in a newline, which no header may. */
function cleanHeaders(
  headers: Readonly<Record<string, string>>,
  auth: string | undefined,
): Readonly<Record<string, string>> {
  const clean = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]);
  const basic = auth === undefined ? [] : [["authorization", `Basic ${btoa(auth)}`]];
  return Object.fromEntries([...basic, ...clean]);
}
