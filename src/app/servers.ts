/** The HTTP servers of the process: probes for the kubelet, and metrics, in plain HTTP or for authorized tokens. */

import { reviewAccess } from "../kube/client/access-review.ts";
import type { KubeEndpoint } from "../kube/config/credentials.ts";
import { createKubeTransport } from "../kube/transport/transport.ts";
import { followCertificate, readCertificate } from "../observability/certificate-files.ts";
import { type HttpServer, metricsPages, probePages, serve } from "../observability/http-server.ts";
import type { Metrics } from "../observability/metrics.ts";
import { createScrapeGuard } from "../observability/scrape-guard.ts";
import { selfSigned } from "../observability/self-signed.ts";
import type { Log } from "../util/log.ts";
import type { Clock } from "../util/time.ts";
import type { Config } from "./config.ts";
import { type Operator, userAgent } from "./operator.ts";

interface ServersOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly operator: Operator;
  /** The API server that decides who can read the metrics. */
  readonly endpoint: KubeEndpoint;
  readonly clock: Clock;
  readonly log: Log;
}

type Closing = Pick<HttpServer, "close">;

/** Starts the servers that have an address. */
export async function startServers(options: ServersOptions): Promise<readonly Closing[]> {
  return Promise.all([...metricsServer(options), ...probeServer(options)]);
}

function probeServer({ config, operator, clock }: ServersOptions): readonly Promise<Closing>[] {
  const { probeAddress } = config;
  const pages = probePages({
    live: { queues: () => operator.notAlive() },
    ready: { caches: () => operator.notReady() },
  });
  return probeAddress === undefined ? [] : [serve({ ...probeAddress, pages, clock })];
}

function metricsServer(options: ServersOptions): readonly Promise<Closing>[] {
  const { config, metrics, clock } = options;
  const { metricsAddress, metricsSecure } = config;
  if (metricsAddress === undefined) return [];
  const pages = metricsPages(() => metrics.renderParts(), metrics.registry.contentType);
  const served = { ...metricsAddress, pages, clock };
  return [metricsSecure ? serveSecurely(options, served) : serve(served)];
}

async function serveSecurely(
  { config, endpoint, metrics, clock, log }: ServersOptions,
  served: Parameters<typeof serve>[0],
): Promise<Closing> {
  const folder = config.metricsCertificate;
  const certificate = folder === "" ? selfSigned(clock.now()) : await readCertificate(folder);
  const onRequest = (method: string, code: string) =>
    metrics.restClientRequests.inc({ method, code });
  const connect = () => createKubeTransport({ endpoint, clock, connections: 1, onRequest });
  // A flood of forged tokens must not delay the reconcilers' calls or the review of previously accepted tokens.
  const transports = { known: connect(), other: connect() };
  const review = (token: string, isKnown: boolean) => {
    const { send } = transports[isKnown ? "known" : "other"];
    return reviewAccess({ baseURL: endpoint.server, send, clock, userAgent }, token, "/metrics");
  };
  const guard = createScrapeGuard({ review, clock });
  const server = await serve({ ...served, certificate, guard });
  const onChange = server.setCertificate;
  const stop =
    folder === ""
      ? () => undefined
      : followCertificate({ folder, known: certificate, onChange, clock, log });
  return {
    close: async () => {
      stop();
      await Promise.all([server.close(), transports.known.close(), transports.other.close()]);
    },
  };
}
