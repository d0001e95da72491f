import * as z from "zod";
import { commonStatus, consoleId, localRef, suspend, timestamp } from "./fields.ts";
import { defineKind } from "./kind.ts";
import { atomic, setOf } from "./lists.ts";
import type { IamObject } from "./meta.ts";
import { withRule } from "./rule.ts";

const spec = z.object({
  serviceAccountRef: localRef.meta({ description: "The ServiceAccount to bind to. Immutable." }),
  policyIds: withRule(setOf(consoleId, 100), {
    rule: "self.size() >= 1",
    message: "must name at least one policy; to unbind them all, delete this PolicyBinding",
    holds: (policyIds) => policyIds.length >= 1,
  }).meta({
    description:
      "Policies to bind: 1 to 100 identifiers, in any order. kubectl iam console policies --search TEXT finds them.",
  }),
  deletionPolicy: z.enum(["Revoke", "Retain"]).default("Revoke").meta({
    description:
      "Revoke unbinds the policies when this object is deleted, Retain leaves them bound.",
  }),
  suspend: suspend.meta({
    description:
      "Pauses changes for this object: what it has bound stays bound. If it is deleted meanwhile, its policies stay bound if the grant allows that.",
  }),
});

const status = z.object({
  ...commonStatus,
  appliedPolicyIds: atomic(z.string().max(256), 1_000).optional().meta({
    description:
      "Policies that the operator has bound on behalf of this object, or has decided to bind.",
  }),
  policyCount: z.int().min(0).optional().meta({
    description: "How many policies are bound on behalf of this object, as last written or read.",
  }),
  lastSyncTime: timestamp.optional().meta({
    description:
      "When the policies of this object were last written, or found to be bound (noted once an hour).",
  }),
});

export const policyBindingKind = defineKind({
  kind: "PolicyBinding",
  plural: "policybindings",
  singular: "policybinding",
  shortName: "iampb",
  scope: "Namespaced",
  hasFinalizer: true,
  writtenBy: "admin",
  description:
    "Policies bound to a service account. The policies of several PolicyBindings of an account add up.",
  spec,
  status,
  rules: [
    {
      at: "spec.serviceAccountRef",
      field: "name",
      rule: "self.name == oldSelf.name",
      message: "is immutable; delete this PolicyBinding and create a new one",
    },
  ],
  columns: [
    {
      name: "ServiceAccount",
      type: "string",
      jsonPath: ".spec.serviceAccountRef.name",
      description: "The ServiceAccount bound to.",
    },
    {
      name: "Policies",
      type: "integer",
      jsonPath: ".status.policyCount",
      description: "Policies bound on behalf of this object.",
    },
    {
      name: "Synced",
      type: "date",
      jsonPath: ".status.lastSyncTime",
      description:
        "Time since the policies of this object were last written, or found to be bound (noted once an hour).",
    },
  ],
  selectableFields: [".spec.serviceAccountRef.name"],
});

type PolicyBindingSpec = z.output<typeof spec>;
export type PolicyBindingStatus = z.output<typeof status>;
export type PolicyBinding = IamObject<PolicyBindingSpec, PolicyBindingStatus>;
