/** The calls that the operator would make for an object that it only plans. */
import * as z from "zod";
import { atomic } from "./lists.ts";

const MAX_CALLS = 100;
const MAX_POLICIES = 200;
const policies = (description: string) =>
  atomic(z.string().max(512), MAX_POLICIES).optional().meta({ description });

const plannedCall = z
  .object({
    call: z.string().max(64).meta({
      description:
        "The call of the console, such as issueKey or syncBindings; writeSecret or deleteSecret for a Secret.",
    }),
    object: z
      .string()
      .max(512)
      .meta({ description: "Object of the change: an account, a key or a Secret." }),
    message: z
      .string()
      .max(1024)
      .meta({ description: "Human-readable description of the change." }),
    bind: policies("Policies that it would bind, by id and name."),
    unbind: policies("Policies that it would unbind, by id and name."),
  })
  .meta({ description: "One call that would be made." });

export const planSchema = z
  .object({
    calls: atomic(plannedCall, MAX_CALLS).meta({
      description:
        "The calls the operator would make next, in order, as far as known; empty if nothing would change.",
    }),
  })
  .meta({
    description:
      "Planned changes, while the annotation iam-operator.io/plan-only is true or the operator runs with --read-only.",
  });

export type PlannedCall = z.output<typeof plannedCall>;
export type Plan = z.output<typeof planSchema>;

/** Bounds the plan to the limits of a status. */
export function toPlan(calls: readonly PlannedCall[]): Plan {
  const names = (list: readonly string[] | undefined) =>
    list?.slice(0, MAX_POLICIES).map((name) => name.slice(0, 512).toWellFormed());
  return {
    calls: calls.slice(0, MAX_CALLS).map(({ call, object, message, bind, unbind }) => ({
      call,
      object: object.slice(0, 512).toWellFormed(),
      message: message.slice(0, 1024).toWellFormed(),
      ...(bind === undefined ? {} : { bind: names(bind) }),
      ...(unbind === undefined ? {} : { unbind: names(unbind) }),
    })),
  };
}
