/** The cluster of a command. Only this file knows how to reach the API server. */
import type { KubeApi } from "../../kube/client/api-call.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/http-kube-client.ts";
import { contextNames, loadKubeEndpoint } from "../../kube/config/config.ts";
import type { KubeCredentials, KubeEndpoint } from "../../kube/config/credentials.ts";
import { createKubeTransport, type KubeTransport } from "../../kube/transport/transport.ts";
import type { Instant } from "../../util/time.ts";
import { Failure, UsageError } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import type { Options } from "../cli/options.ts";
import { userAgent } from "../user-agent.ts";
import { followServerClock } from "./server-clock.ts";

const FIELD_MANAGER = "kubectl-iam";
export const READ_MS = 30_000;

export interface Cluster extends AsyncDisposable {
  readonly kube: KubeClient;
  readonly server: string;
  /** The namespace of objects whose namespace is not given. */
  readonly namespace: string;
  readonly transport: KubeTransport;
  readonly api: KubeApi;
  /** By the API server's clock, as its last answer showed it. */
  now(): Instant;
}

/** Throws UsageError if the kubeconfig names no cluster. */
export async function openCluster(io: Io, options: Options): Promise<Cluster> {
  const endpoint = actingAs(await endpointOf(io, options), options);
  const transport = createKubeTransport({ endpoint, clock: io.clock });
  const { send, now } = followServerClock(transport.send, io.clock);
  const api = { baseURL: endpoint.server, send, clock: io.clock, userAgent };
  const timeouts = { readMs: READ_MS, writeMs: READ_MS };
  return {
    kube: createKubeClient({ ...api, fieldManager: FIELD_MANAGER, timeouts }),
    server: endpoint.server,
    namespace: options.namespace ?? (endpoint.namespace || "default"),
    transport,
    api,
    now,
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

async function endpointOf({ clock, environment }: Io, options: Options): Promise<KubeEndpoint> {
  const { kubeconfig, context } = options;
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT;
  const isInPod =
    host !== undefined && port !== undefined && !environment.KUBECONFIG && context === undefined;
  try {
    return await loadKubeEndpoint({
      kubeconfig,
      kubeconfigList: environment.KUBECONFIG,
      context,
      clock,
      ...(isInPod ? { podServer: { host, port } } : {}),
    });
  } catch (error) {
    throw new UsageError(
      (await missingContext(options, environment)) ??
        `no cluster is configured (${whyNone(error)}): set KUBECONFIG, --kubeconfig or --context`,
    );
  }
}

/** For a context that does not exist, lists the existing contexts. */
async function missingContext(
  { kubeconfig, context }: Options,
  { KUBECONFIG: kubeconfigList }: Io["environment"],
): Promise<string | undefined> {
  if (context === undefined) return undefined;
  const names = await contextNames({ kubeconfig, kubeconfigList });
  if (names.length === 0 || names.includes(context)) return undefined;
  return `context ${context} does not exist; the kubeconfig has ${names.join(", ")}`;
}

/** Without any kubeconfig, client-node tries a server on this machine and then refuses its plain HTTP. */
function whyNone(error: unknown): string {
  if (!(error instanceof Error)) return "the kubeconfig cannot be read";
  return /^HTTP protocol is not allowed/.test(error.message)
    ? "no kubeconfig, or a kubeconfig with a plain http server"
    : error.message;
}

function actingAs(endpoint: KubeEndpoint, { as: user, asGroup = [] }: Options): KubeEndpoint {
  if (user === undefined && asGroup.length === 0) return endpoint;
  if (user === undefined) throw new UsageError("--as-group needs --as as well");
  if (asGroup.length > 1) throw new UsageError("--as-group can be given once only");
  const groups = asGroup.map((group) => ["impersonate-group", group] as const);
  const extra = Object.fromEntries([["impersonate-user", user] as const, ...groups]);
  // The transport passes the rejected credentials back; the endpoint must receive the object that it returned.
  const originals = new WeakMap<KubeCredentials, KubeCredentials>();
  return {
    ...endpoint,
    credentials: async (rejected) => {
      const original = await endpoint.credentials(rejected && originals.get(rejected));
      const headers = { ...original.headers, ...extra };
      const credentials = { ...original, headers };
      originals.set(credentials, original);
      return credentials;
    },
  };
}

/** The namespace to read; `undefined` for all namespaces, which override a given namespace as in kubectl. */
export function scopeOf(cluster: Cluster, { allNamespaces }: Options): string | undefined {
  return allNamespaces ? undefined : cluster.namespace;
}

export function notFound(what: string, namespace: string): Failure {
  return new Failure(`${what} not found${namespace === "" ? "" : ` in namespace ${namespace}`}.`);
}
