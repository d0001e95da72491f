/** The composition root: the only file that knows every part. */
import { annotations, FIELD_MANAGER } from "../api/meta.ts";
import { parseConnectionKey } from "../connections/connection-key.ts";
import { createIamClient, type IamObserver } from "../console/client/console-client.ts";
import { LoginCircuits } from "../console/session/login-circuits.ts";
import type { HttpResponse, OpenStream, SendHttp } from "../http/http.ts";
import type { NameResolver } from "../http/resolver.ts";
import { ServerClock } from "../http/server-clock.ts";
import { DeletedIssues } from "../kinds/api-key/deleted-issues.ts";
import type { Timing } from "../kinds/api-key/timing.ts";
import { createConnections } from "../kinds/connection/registry.ts";
import { type AnyKind, kinds as allKinds } from "../kinds/kinds.ts";
import { createKubeClient } from "../kube/client/http-kube-client.ts";
import { trackWrites } from "../kube/client/tracked-client.ts";
import type { EventTarget } from "../kube/events/event-recorder.ts";
import { createEventWriter, type EventWriter } from "../kube/events/event-writer.ts";
import {
  createLeaderElection,
  type LeaderElection,
  type LeadershipEnd,
  type LeaseTimings,
  noElection,
} from "../kube/leader-election.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Context } from "../reconciler/context.ts";
import { agreedClock } from "../util/agreed-time.ts";
import { FirstNames } from "../util/first-names.ts";
import { bareHost } from "../util/host.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import { TenantMemory } from "../util/tenant-memory.ts";
import { type Clock, MINUTE, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { noTracer, type Tracer } from "../util/trace.ts";
import { createApiServerAddresses } from "./api-server-addresses.ts";
import { createClusterCache } from "./caches.ts";
import type { Config } from "./config.ts";
import { connectionAddresses, egressFor } from "./console-egress.ts";
import { type ControllerSet, createControllers } from "./controllers.ts";
import { leaseName } from "./lease-name.ts";
import { API_SERVER } from "./names.ts";
import { refuseMutation, toReportingKube } from "./read-only.ts";
import { saveAll } from "./save-all.ts";
import { createServedFields } from "./served-fields.ts";
import { version } from "./version.ts";

/** Every external dependency is an option, so that a simulation can replace it. */
export interface OperatorOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  /** No traces by default. */
  readonly tracer?: Tracer;
  /** The kinds to reconcile; all of the operator's kinds by default. */
  readonly kinds?: readonly AnyKind[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly kube: {
    readonly baseURL: string;
    readonly send: SendHttp;
    /** Uses its own connections, so that renewing the lease never waits behind work. */
    readonly sendLease: SendHttp;
    readonly openStream: OpenStream;
  };
  /** Resolves names; absent: as the machine does. */
  readonly resolver?: NameResolver | undefined;
  /** Replaces the network to the consoles. */
  readonly sendIam?: SendHttp;
  readonly timing?: Partial<Timing>;
  readonly leaseTimings?: LeaseTimings;
}

export interface Operator {
  /** Why the operator is not ready; `undefined` if the caches are synced and the CRDs have every field. */
  notReady(): string | undefined;
  /** Why the process must be restarted; `undefined` while runs end or no work is queued. */
  notAlive(): string | undefined;
  /**
   * Works until the signal is aborted (Stopped) or the lease is lost (Lost). After an abort, takes no new work, waits
   * for running work, and resolves only when every issued pair is written or the grace period is over.
   */
  run(signal: AbortSignal): Promise<LeadershipEnd>;
}

export const userAgent = `iam-operator/${version} (${process.platform}/${process.arch})`;

/** If no run ends for this long while work is queued, the process hangs. */
const MAX_SILENCE_MS = 5 * MINUTE;

export function createOperator(given: OperatorOptions): Operator {
  const options = withAgreedTime(given);
  const {
    config,
    clock,
    random,
    log,
    kube,
    metrics,
    tracer = noTracer,
    kinds = allKinds,
    resolver,
  } = options;
  const api = { ...kube, send: tracedSend(kube.send, tracer), clock, userAgent };
  const deletedIssues = new DeletedIssues();
  const election = createElection(options, deletedIssues);
  const beforeMutation = (timeoutMs: number) => election.assertMayMutate(timeoutMs);
  const { readOnly } = config;
  const cache = createClusterCache({
    kinds,
    api,
    namespaces: config.namespaces,
    watchSecrets: config.watchSecrets,
    clusterScoped: watchesCluster(config),
    selector: config.selector,
    random,
    log,
    metrics,
  });
  const client = trackWrites(
    createKubeClient({ ...api, fieldManager: FIELD_MANAGER, beforeMutation }),
    (type) => cache.trackerOf(type),
  );
  const events = createEventWriter({
    client,
    instance: config.instance,
    clock,
    random,
    log,
    onDropped: () => metrics.eventsDropped.inc(),
    standIn: config.leaderElect ? leaseReference(config) : undefined,
  });
  const servedFields = createServedFields({ api, log, isListed: () => cache.synced });
  const apiServer = createApiServerAddresses({
    hosts: apiServerHosts(options),
    resolve: resolver && ((name) => resolver.resolve(name, API_SERVER)),
    // The chart grants this permission only with cluster-wide permissions.
    kube: config.namespaces.length === 0 || watchesCluster(config) ? client : undefined,
    clock,
    log,
  });
  const addresses = connectionAddresses(config, apiServer);
  const loginCircuits = new LoginCircuits(clock, random);
  const connections = createConnections({
    caches: cache.caches,
    clock,
    log,
    createClient: (settings, key, { onRequest, ...login }) =>
      createIamClient({
        ...settings,
        ...login,
        loginCircuits,
        userAgent,
        clock,
        random,
        beforeMutation: readOnly ? refuseMutation : beforeMutation,
        observer: observeConsole(metrics, onRequest),
        tracer,
        ...egressFor(key, settings, config, addresses),
        owner: ownerOf(key),
        lookup: resolver?.lookupFor(ownerOf(key) ?? key),
        ...(options.sendIam === undefined ? {} : { send: options.sendIam }),
      }),
  });
  const named = new FirstNames();
  const context: Context = {
    kube: readOnly ? toReportingKube(client) : client,
    caches: cache.caches,
    connections,
    events,
    metrics,
    log,
    clock,
    random,
    readOnly,
    clusterName: config.clusterName,
    memory: new TenantMemory({
      onOmitted: (namespace) =>
        metrics.omittedState.inc({ namespace: named.has(namespace) ? namespace : "" }),
    }),
  };
  const set = createControllers({
    ...options,
    kinds,
    context,
    cache,
    registry: connections,
    deletedIssues,
    tracer,
  });
  return {
    notReady: () => (cache.synced ? servedFields.notReady() : "caches are not synced"),
    notAlive: () => {
      const hanging = set.controllers.find(({ silentMs }) => silentMs > MAX_SILENCE_MS);
      return hanging && `no reconcile of ${hanging.name} has ended for too long`;
    },
    run: async (signal) => {
      const following = new AbortController();
      const followed = cache.follow(following.signal);
      await servedFields.untilComplete(signal);
      const end = await lead(election, signal, set, events, options);
      following.abort();
      await Promise.all([followed, connections.close()]);
      return end;
    },
  };
}

/** All parts go by the agreed time of the process and the API server; a run adds the clock of its console. */
function withAgreedTime(options: OperatorOptions): OperatorOptions {
  const { clock, kube } = options;
  const server = new ServerClock(clock);
  const observed =
    <Request, Response extends Pick<HttpResponse, "headers">>(
      send: (request: Request) => Promise<Response>,
    ) =>
    async (request: Request) => {
      const sentAt = clock.monotonic();
      const response = await send(request);
      server.note(response.headers, sentAt);
      return response;
    };
  return {
    ...options,
    clock: agreedClock(clock, () => ({ apiServer: server.now() })),
    kube: {
      ...kube,
      send: observed(kube.send),
      sendLease: observed(kube.sendLease),
      openStream: observed(kube.openStream),
    },
  };
}

/** Works while the lease is held. Keeps the lease until all running work has ended. */
async function lead(
  election: LeaderElection,
  signal: AbortSignal,
  { controllers, unsaved, exposeObjects }: ControllerSet,
  events: EventWriter,
  { clock, config, log }: OperatorOptions,
): Promise<LeadershipEnd> {
  const electing = new AbortController();
  const working = new AbortController();
  const stop = async () => {
    log.info({}, "stopping");
    working.abort(signal.reason);
    const drained = Promise.all(controllers.map((each) => each.drain(config.shutdownGrace)));
    await saveAll(unsaved, drained, { clock, log, graceMs: config.shutdownGrace });
    await events.flush(2 * SECOND);
  };
  const onAbort = () => {
    stop()
      .catch((error: unknown) => log.error({ err: toError(error) }, "could not stop in order"))
      .finally(() => electing.abort(signal.reason));
  };
  if (signal.aborted) return "Stopped";
  signal.addEventListener("abort", onAbort, { once: true });
  const end = await election.run({
    signal: electing.signal,
    onStartedLeading: () => {
      exposeObjects();
      for (const controller of controllers) controller.start(working.signal);
    },
  });
  working.abort();
  return end;
}

function leaseReference({ operatorNamespace: namespace, selector }: Config): EventTarget {
  const metadata = { namespace, name: leaseName(selector) };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
}

/** The namespace of a Connection; `undefined` for a ClusterConnection. */
function ownerOf(connection: string): string | undefined {
  return parseConnectionKey(connection).key.namespace || undefined;
}

function observeConsole(metrics: Metrics, onRequest: (code: string) => void): IamObserver {
  return {
    onRequest: (operation, code, seconds) => {
      onRequest(code);
      metrics.iamRequests.inc({ operation, code });
      metrics.iamRequestDuration.observe({ operation }, seconds);
    },
    onLogin: (result) => metrics.logins.inc({ result }),
  };
}

/** Adds a span for every Kubernetes call of a run. */
function tracedSend(send: SendHttp, tracer: Tracer): SendHttp {
  if (tracer === noTracer) return send;
  return (request) => {
    const { method, url } = request;
    const fields = { "http.request.method": method, "url.path": new URL(url).pathname };
    return tracer.childSpan(`kubernetes ${method}`, fields, async (span) => {
      const response = await send(request);
      span.set({ "http.response.status_code": response.status });
      if (response.status >= 400) span.fail(String(response.status));
      return response;
    });
  };
}

function apiServerHosts({ kube, config: { podServer } }: OperatorOptions): readonly string[] {
  const host = bareHost(new URL(kube.baseURL).hostname);
  return podServer === undefined ? [host] : [host, bareHost(podServer.host)];
}

/** Cluster-scoped kinds require cluster-wide permissions. */
function watchesCluster({ clusterConnections, namespaces }: Config): boolean {
  return clusterConnections === "auto" ? namespaces.length === 0 : clusterConnections === "true";
}

function createElection(
  { config, clock, random, log, kube, metrics, leaseTimings }: OperatorOptions,
  deletedIssues: DeletedIssues,
): LeaderElection {
  const onStatus = (leading: boolean) =>
    metrics.leaderStatus.set({ name: "iam-operator" }, leading ? 1 : 0);
  if (!config.leaderElect) return noElection(onStatus);
  return createLeaderElection({
    client: createKubeClient({
      baseURL: kube.baseURL,
      send: kube.sendLease,
      clock,
      userAgent,
      fieldManager: FIELD_MANAGER,
    }),
    namespace: config.operatorNamespace,
    name: leaseName(config.selector),
    identity: `${config.instance}_${random.id()}`,
    clock,
    random,
    log,
    onStatus,
    handover: {
      take: (left) => deletedIssues.restore(left[annotations.deletedIssues]),
      leave: () => ({ [annotations.deletedIssues]: deletedIssues.toText(clock.now()) }),
    },
    ...(leaseTimings === undefined ? {} : { timings: leaseTimings }),
  });
}
