/** What the process serves: probes for the kubelet, and metrics, plain or only for those who may read them. */

import { reviewAccess } from "../kube/client/access-review.ts";
import type { KubeApi } from "../kube/client/api-call.ts";
import { followCertificate, readCertificate } from "../observability/certificate-files.ts";
import { type HttpServer, metricsPages, probePages, serve } from "../observability/http-server.ts";
import type { Metrics } from "../observability/metrics.ts";
import { createScrapeGuard } from "../observability/scrape-guard.ts";
import { selfSigned } from "../observability/self-signed.ts";
import type { Log } from "../util/log.ts";
import type { Clock } from "../util/time.ts";
import type { Config } from "./config.ts";
import type { Operator } from "./operator.ts";

export interface ServersOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly operator: Operator;
  /** Says who may read the metrics. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
}

type Closing = Pick<HttpServer, "close">;

/** Those that have an address. */
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
  const pages = metricsPages(() => metrics.render(), metrics.registry.contentType);
  const served = { ...metricsAddress, pages, clock };
  return [metricsSecure ? serveSecurely(options, served) : serve(served)];
}

async function serveSecurely(
  { config, api, clock, log }: ServersOptions,
  served: Parameters<typeof serve>[0],
): Promise<Closing> {
  const folder = config.metricsCertificate;
  const certificate = folder === "" ? selfSigned(clock.now()) : await readCertificate(folder);
  const review = (token: string) => reviewAccess(api, token, "/metrics");
  const guard = createScrapeGuard({ review, clock });
  const server = await serve({ ...served, certificate, guard });
  if (folder === "") return server;
  const onChange = server.setCertificate;
  const stop = followCertificate({ folder, known: certificate, onChange, clock, log });
  return {
    close: () => {
      stop();
      return server.close();
    },
  };
}
