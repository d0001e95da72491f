/** Every metric, declared once. */
import { Counter, Gauge, type Registry } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

/** Declares the operator's metrics on `registry`; known series start at zero. */
export function createMetrics(registry: Registry) {
  const registers = [registry];
  return {
    registry,
    objectReady: new Gauge({
      name: "iam_operator_object_ready",
      help: "Whether an object is ready (1) or not (0).",
      labelNames: ["kind", "namespace", "name"],
      registers,
    }),
    driftCorrections: new Counter({
      name: "iam_operator_drift_corrections_total",
      help: "Policy bindings at the console that were changed back.",
      registers,
    }),
  };
}
