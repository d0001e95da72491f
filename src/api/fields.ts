/** Field schemas that several kinds share. */
import { z } from "zod";
import { DURATION_PATTERN } from "../util/time.ts";
import { conditionSchema } from "./conditions.ts";

export const objectName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);

/** An identifier of the console: opaque, printable, without white space. */
export const consoleId = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\s/?#]+$/);

export const duration = z.string().min(2).max(32).regex(DURATION_PATTERN);
export const timestamp = z.iso.datetime().meta({ format: "date-time" });
export const description = z.string().max(512);

export const localRef = z
  .object({ name: objectName })
  .meta({ description: "An object in the same namespace." });

export const connectionRef = z
  .object({
    kind: z.enum(["ClusterConnection", "Connection"]).default("ClusterConnection"),
    name: objectName.default("default"),
  })
  .prefault({})
  .meta({
    description:
      "The connection to use: a ClusterConnection that grants this namespace, or a Connection in this namespace.",
  });
export type ConnectionRef = z.output<typeof connectionRef>;

export const suspend = z.boolean().default(false).meta({
  description: "While true, the operator makes no write call of any kind for this object.",
});

/** Status fields every kind has. */
export const commonStatus = {
  observedGeneration: z.int().min(0).optional(),
  lastHandledReconcileAt: z.string().max(256).optional().meta({
    description:
      "The last value of the annotation iam.console.dev/reconcile-requested-at that was acted on.",
  }),
  conditions: z.array(conditionSchema).max(16).optional(),
};
