/** All reasons, in the order of docs/troubleshooting.md. */
import { ownEntry } from "../../util/own-entry.ts";
import { ofAnyObject } from "./any-object.ts";
import { ofConnections } from "./connections.ts";
import { ofConsumers } from "./consumers.ts";
import { ofNormalEvents, ofNormalStates, ofWarnings } from "./events.ts";
import { ofApiServerCalls, ofConsoleCalls } from "./failed-calls.ts";
import { ofKeys } from "./keys.ts";
import { ofPolicies } from "./policies.ts";
import { ofQuotas } from "./quotas.ts";
import type { Reason, Section } from "./reason.ts";
import { ofServiceAccounts } from "./service-accounts.ts";

export const sections = [
  { title: "Any object", reasons: ofAnyObject },
  { title: "Connections", reasons: ofConnections },
  { title: "Service accounts", reasons: ofServiceAccounts },
  { title: "Policies", reasons: ofPolicies },
  { title: "Keys", reasons: ofKeys },
  {
    title: "Pods that use a Secret",
    intro: "Only if the operator runs with `--consumers=count` or `--consumers=restart`.",
    reasons: ofConsumers,
  },
  { title: "Quotas", reasons: ofQuotas },
  { title: "Answers of the console", reasons: ofConsoleCalls },
  { title: "Answers of the API server", reasons: ofApiServerCalls },
  { title: "Events to look into", reasons: ofWarnings },
  { title: "Events that require no action", reasons: ofNormalEvents },
  { title: "No action required", reasons: ofNormalStates },
] as const satisfies readonly Section[];

type KeyOf<T> = T extends unknown ? keyof T : never;
export type ReasonName = KeyOf<(typeof sections)[number]["reasons"]>;

export const reasons: Readonly<Record<string, Reason>> = Object.assign(
  {},
  ...sections.map((section) => section.reasons),
);

export function findReason(name: string): Reason | undefined {
  return ownEntry(reasons, name);
}
