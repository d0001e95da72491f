/** The operator as a process: real time, real network, signals, HTTP servers. */
import { collectDefaultMetrics, type Registry } from "prom-client";
import { loadKubeEndpoint } from "../kube/config/config.ts";
import { createKubeTransport } from "../kube/transport/transport.ts";
import { createLogger } from "../observability/logger.ts";
import { LongTurns } from "../observability/long-turns.ts";
import { createMetrics, LAG_SAMPLE_MS } from "../observability/metrics.ts";
import type { Tracing } from "../observability/tracing.ts";
import type { Log } from "../util/log.ts";
import { systemRandom } from "../util/random.ts";
import { SECOND, systemClock } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { noTracer } from "../util/trace.ts";
import type { Config } from "./config.ts";
import { limitYoungGeneration } from "./memory.ts";
import { API_SERVER, systemResolver } from "./names.ts";
import { createOperator } from "./operator.ts";
import { startServers } from "./servers.ts";
import { version } from "./version.ts";

/** Runs until SIGTERM or SIGINT, or until the lease is lost; returns the exit status. */
export async function runProcess(config: Config, registry: Registry): Promise<number> {
  limitYoungGeneration();
  const clock = systemClock;
  const { log, flush } = createLogger({ level: config.logLevel, format: config.logFormat, clock });
  const stopping = stopOnSignals();
  crashOnUnhandled((error) => {
    log.error({ err: error }, "unexpected failure; exiting");
    flush();
  });
  log.info({ version, pid: process.pid }, "starting");
  const resolver = systemResolver(clock);
  const endpoint = {
    ...(await loadKubeEndpoint({
      kubeconfig: config.kubeconfig || undefined,
      podServer: config.podServer,
      clock,
    })),
    lookup: resolver.lookupFor(API_SERVER),
  };
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
  const metrics = createMetrics(registry);
  const transport = createKubeTransport({
    endpoint,
    clock,
    onRequest: (method, code) => metrics.restClientRequests.inc({ method, code }),
  });
  const tracing = await startTracing(config, log);
  const turns = new LongTurns({
    clock,
    onLongTurn: (owner, delayMs) => metrics.longTurns.inc({ ...owner }, delayMs / SECOND),
  });
  const operator = createOperator({
    config,
    metrics,
    tracer: turns.measure(tracing.tracer),
    clock,
    random: systemRandom,
    log,
    resolver,
    kube: { baseURL: endpoint.server, ...transport },
  });
  const servers = await startServers({ config, metrics, operator, endpoint, clock, log });
  try {
    const end = await operator.run(stopping);
    log.info({ end }, "stopped");
    return end === "Stopped" ? 0 : 1;
  } finally {
    await Promise.all([
      transport.close(),
      tracing.close(),
      ...servers.map((server) => server.close()),
    ]);
    flush();
  }
}

/** Loads OpenTelemetry only if traces are requested. */
async function startTracing({ traces, instance }: Config, log: Log): Promise<Tracing> {
  if (traces === undefined) return { tracer: noTracer, close: async () => undefined };
  const tracing = await import("../observability/tracing.ts");
  return tracing.startTracing({ ...traces, version, instance, log });
}

function stopOnSignals(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.once(signal, () => stopping.abort(new Error(`received ${signal}`)));
  return stopping.signal;
}

/** After a bug, the process must not look alive. */
function crashOnUnhandled(tell: (error: Error) => void): void {
  const die = (error: unknown) => {
    tell(toError(error));
    process.exit(1);
  };
  process.on("uncaughtException", die);
  process.on("unhandledRejection", die);
}
