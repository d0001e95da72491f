/** A manager in this process, as the program runs it. */
import { Registry } from "prom-client";
import { type Config, readCommand } from "../../src/app/config.ts";
import { createOperator } from "../../src/app/operator.ts";
import { createTransport, type Transport } from "../../src/console/exchange/transport.ts";
import type { HttpResponse } from "../../src/http/http.ts";
import type { Timing } from "../../src/kinds/api-key/timing.ts";
import { loadKubeEndpoint } from "../../src/kube/config/config.ts";
import { createKubeTransport } from "../../src/kube/transport/transport.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { startTracing } from "../../src/observability/tracing.ts";
import { systemRandom } from "../../src/util/random.ts";
import { type Clock, systemClock } from "../../src/util/time.ts";
import { collectSpans, type SeenSpan } from "../support/spans.ts";
import { until } from "./until.ts";

/** So short that a test can wait for every one of them. */
const quickTiming: Timing = {
  recoverySettleMs: 300,
  explanationCheckMs: 300,
  verifyRetryMs: 150,
  verifyPatienceMs: 1_000,
  verifySlowRetryMs: 300,
  verifyGiveUpMs: 4_000,
  secretCheckMs: 700,
  endedPatienceMs: 600,
  keyCheckMs: 700,
  longestKeyCheckMs: 3_000,
  regularCheckMs: 3_000,
  formerAccountPatienceMs: 3_000,
  deletionPatienceMs: 3_000,
};

export interface Manager {
  metrics(): Promise<string>;
  /** As on SIGTERM. */
  stop(): Promise<void>;
}

interface ManagerOptions {
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly config: Partial<Config>;
  readonly clock: Clock;
  readonly logs: string[];
  readonly spans: SeenSpan[];
}

/** Answers when its caches are synced. */
export async function startManager(options: ManagerOptions): Promise<Manager> {
  const { clock, kubeconfig, logs, namespace, spans } = options;
  const endpoint = await loadKubeEndpoint({ kubeconfig, clock: systemClock });
  const transport = createKubeTransport({ endpoint, clock: systemClock });
  const consoles = new Map<string, Transport>();
  const consoleAt = (origin: string) => {
    const known = consoles.get(origin);
    const console = known ?? createTransport({ origin, connections: 16, clock: systemClock });
    consoles.set(origin, console);
    return console;
  };
  const metrics = createMetrics(new Registry());
  const sink = { write: (line: string) => void logs.push(line), flushSync: () => undefined };
  const { log } = createLogger({ level: "debug", format: "json", clock: systemClock, sink });
  const tracing = startTracing({
    version: "test",
    instance: namespace,
    sampler: { name: "always_on", ratio: 1 },
    log,
    exporter: collectSpans(spans),
  });
  const operator = createOperator({
    config: { ...configFor(namespace), ...options.config },
    metrics,
    tracer: tracing.tracer,
    clock,
    random: systemRandom,
    log,
    kube: {
      baseURL: endpoint.server,
      send: dated(transport.send, clock),
      sendLease: dated(transport.sendLease, clock),
      openStream: dated(transport.openStream, clock),
    },
    sendIam: (request) => consoleAt(new URL(request.url).origin).send(request),
    timing: quickTiming,
  });
  const stopping = new AbortController();
  const ended = operator.run(stopping.signal);
  await until("the manager's caches to be synced", () => operator.notReady() === undefined);
  return {
    metrics: () => metrics.render(),
    stop: async () => {
      stopping.abort();
      await ended;
      await transport.close();
      await tracing.close();
      await Promise.all([...consoles.values()].map((each) => each.close()));
    },
  };
}

/** The API server's clock goes along with the world's. */
function dated<Request, Response extends Pick<HttpResponse, "headers">>(
  send: (request: Request) => Promise<Response>,
  clock: Clock,
) {
  return async (request: Request): Promise<Response> => {
    const response = await send(request);
    const date = new Date(clock.now()).toUTCString();
    return { ...response, headers: { ...response.headers, date } };
  };
}

function configFor(namespace: string): Config {
  const command = readCommand(
    [
      `--namespaces=${namespace}`,
      "--leader-elect=false",
      `--operator-namespace=${namespace}`,
      "--shutdown-grace=10s",
      "--log-level=debug",
    ],
    {},
  );
  if (command.kind !== "Run") throw new Error("not a run");
  return command.config;
}
