/** Field schemas that several kinds share. */
import * as z from "zod";
import { parseDuration } from "../util/time.ts";
import { conditionSchema } from "./conditions.ts";
import { mapOf } from "./lists.ts";
import { planSchema } from "./plan.ts";
import { celPattern, matching, withRule } from "./rule.ts";

/** A text of at most `max` characters, counted in code points as the API server does. */
export function text(max: number): z.ZodString {
  return z
    .string()
    .refine((value) => value.length <= max || Array.from(value).length <= max, {
      error: `must not be longer than ${max} characters`,
    })
    .meta({ maxLength: max });
}

/** Limits the number of entries of a map, in zod and in the CRD. */
export function entries<Schema extends z.ZodType<Record<string, string>>>(
  schema: Schema,
  most: number,
): Schema {
  return schema
    .refine((map) => Object.keys(map).length <= most, {
      error: `must have at most ${most} entries`,
    })
    .meta({ maxProperties: most });
}

export const objectName = matching(
  z.string().max(253),
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  "must be the name of a Kubernetes object: lower-case letters, digits, '-' and '.', such as ci-bot",
);

const CONSOLE_ID = /^[A-Za-z0-9_][-A-Za-z0-9._~:@+=,]*$/;

/** A console identifier: opaque, but valid in a header and in a path segment. */
export const consoleId = matching(
  z.string().max(256),
  CONSOLE_ID,
  "must be an identifier of the console, such as org-1: a letter or digit, then letters, digits and any of - . _ ~ : @ + = ,",
);

/** A console name that is sent in a header. */
export const consoleName = matching(
  z.string().max(256),
  /^[!-~]([ -~]*[!-~])?$/,
  "must be printable ASCII without white space around it, since it is sent in a header",
);

/** A policy or project in a grant: one ID, or `*` for any. */
export function grantedId(what: string, example: string): z.ZodString {
  return matching(
    z.string().max(256),
    new RegExp(`^[*]$|${CONSOLE_ID.source}`),
    `must be the identifier of a ${what}, such as ${example}, or "*" for any ${what}`,
  );
}

/** A valid entry name of a Secret. */
export const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/;

/** The part of Go's notation that cannot overflow: `90s`, `15m`, `1h30m`, `720h`. */
export const DURATION =
  /^([0-9]{1,5}h([0-9]{1,5}m)?([0-9]{1,5}s)?|[0-9]{1,5}m([0-9]{1,5}s)?|[0-9]{1,6}s|[0-9]{1,6}ms)$/;

/** CEL that checks whether an expression is a duration, so that `duration()` cannot fail. */
export function celDuration(expression: string): string {
  return `${expression}.matches(${celPattern(DURATION)})`;
}

const durationText = z.string().max(32);

export const duration = matching(
  durationText,
  DURATION,
  "must be a duration in hours, minutes and seconds, such as 720h, 1h30m or 15s, up to 99999h; days are not a unit",
);

/** A duration within bounds; the message names the bounds. */
export function durationBetween(least: string, most: string): typeof durationText {
  return withRule(durationText, {
    rule: `${celDuration("self")} && duration(self) >= duration('${least}') && duration(self) <= duration('${most}')`,
    message: `must be a duration from ${least} to ${most}, written in hours, minutes and seconds, such as 1h30m or 15s`,
    holds: (value) => DURATION.test(value) && ms(value) >= ms(least) && ms(value) <= ms(most),
  });
}

/** Converts a text that matches {@link DURATION} to milliseconds. */
export function ms(value: string): number {
  return parseDuration(value) ?? Number.NaN;
}

export const timestamp = z.iso.datetime().meta({ format: "date-time" });
export const description = text(512).meta({
  description: "Free text, shown in the console; the operator appends its own marker.",
});

export const localRef = z
  .object({ name: objectName.meta({ description: "The object's name." }) })
  .meta({ description: "An object in the same namespace." });

export const connectionRef = z
  .object({
    kind: z.enum(["ClusterConnection", "Connection"]).default("ClusterConnection").meta({
      description: "ClusterConnection (shared) or Connection (in this namespace).",
    }),
    name: objectName.default("default").meta({ description: "The connection's name." }),
  })
  .prefault({})
  .meta({
    description:
      "The connection to use: a ClusterConnection that grants this namespace, or a Connection in this namespace.",
  });
export type ConnectionRef = z.output<typeof connectionRef>;

/** Whether a kind can be the kind of a `connectionRef`. */
export function isConnectionKind(kind: string | undefined): kind is ConnectionRef["kind"] {
  return kind === "Connection" || kind === "ClusterConnection";
}

export const suspend = z.boolean().default(false).meta({
  description: "Pauses all changes of this object.",
});

/** The status fields of every kind. */
export const commonStatus = {
  // Without a value, kstatus reports a new object as current.
  observedGeneration: z.int().min(-1).optional().meta({
    description: "The metadata.generation of this status; -1 before the first reconcile.",
    default: -1,
  }),
  lastHandledReconcileAt: z.string().max(256).optional().meta({
    description: "Last handled value of the annotation iam-operator.io/reconcile-requested-at.",
  }),
  plan: planSchema.optional(),
  conditions: mapOf(conditionSchema, ["type"], 16).optional().meta({
    description:
      "What holds for the object now: Ready always; Reconciling or Stalled while they are true.",
  }),
};

/** The status field of a kind with a call that must not be repeated if its response cannot be read. */
export function unreadableResponse(
  call: string,
): z.ZodOptional<z.ZodObject<typeof unreadableFields>> {
  return z
    .object(unreadableFields)
    .optional()
    .meta({
      description: `The response to the last ${call} call, if it was received but could not be read. The call is repeated only if the spec, the connection's spec or a requesting annotation changes.`,
    });
}

const unreadableFields = {
  attemptId: z.string().max(64).meta({ description: "The attempt that made the call." }),
  message: z.string().max(512).meta({ description: "Status, form and fault of the response." }),
  circumstances: z.string().max(64).meta({
    description:
      "Internal. Changes with the spec, the connection's spec and the annotation iam-operator.io/reconcile-requested-at.",
  }),
};
