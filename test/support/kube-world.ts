/** The simulated API server and network, and processes that talk to it: the world of tests of the Kubernetes client. */
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/http-kube-client.ts";
import type { WatchApi } from "../../src/kube/watch/watch-stream.ts";
import { kubeEndpoint } from "../../tools/simulation/endpoints.ts";
import {
  type CallFault,
  type Fault,
  type FaultedCall,
  FaultPlan,
} from "../../tools/simulation/faults.ts";
import { Journal } from "../../tools/simulation/journal.ts";
import { Kernel } from "../../tools/simulation/kernel.ts";
import { createSend } from "../../tools/simulation/network.ts";
import { ProcessClock } from "../../tools/simulation/process-clock.ts";
import { SimProcess } from "../../tools/simulation/sim-process.ts";
import { createOpenStream } from "../../tools/simulation/watch-network.ts";
import { MemoryCluster } from "./memory-cluster.ts";

const BASE_URL = "http://kube";

export interface ProcessTraits {
  /** How fast its clock runs. */
  readonly rate?: number;
  /** How far its wall clock is off. */
  readonly skewMs?: number;
  /** How long its calls take one way. */
  readonly latencyMs?: number;
}

export interface KubeProcess {
  readonly process: SimProcess;
  readonly faults: LastingFaults;
  readonly client: KubeClient;
  readonly api: WatchApi;
}

export class KubeWorld {
  readonly kernel = new Kernel(1);
  readonly journal = new Journal();
  /** The stored objects, and the calls of users. */
  readonly cluster = new MemoryCluster(new ProcessClock(this.kernel, (run) => run()), {
    served: [],
  });

  start(
    name: string,
    { rate, skewMs, latencyMs = 5 }: ProcessTraits = {},
    planned: readonly Fault[] = [],
  ): KubeProcess {
    const { kernel, journal } = this;
    const { server } = this.cluster;
    const process = new SimProcess(kernel, name, () => undefined, skewMs, rate);
    const faults = new LastingFaults({ name, faults: planned });
    const context = { kernel, journal, faults };
    const endpoint = { ...kubeEndpoint(server), latency: [latencyMs, latencyMs] as const };
    const api = {
      baseURL: BASE_URL,
      send: createSend(context, process, endpoint),
      openStream: createOpenStream(context, process, server),
      clock: process.clock,
      userAgent: "test",
    };
    return { process, faults, api, client: createKubeClient({ ...api, fieldManager: "test" }) };
  }
}

/** The faults of a plan, and one that befalls every call until it is taken back. */
export class LastingFaults extends FaultPlan {
  call: CallFault | undefined;

  override strike(call: FaultedCall): CallFault | undefined {
    return this.call ?? super.strike(call);
  }
}
