import { z } from "zod";
import { commonStatus, consoleId, localRef, suspend, timestamp } from "./fields.ts";
import { ageColumn, defineKind, readyColumn } from "./kind.ts";
import type { IamObject } from "./meta.ts";

const spec = z.object({
  serviceAccountRef: localRef.meta({ description: "The ServiceAccount to bind to. Immutable." }),
  policyIds: z
    .array(consoleId)
    .min(1)
    .max(100)
    .meta({ "x-kubernetes-list-type": "set", description: "Policies to bind, as a set." }),
  deletionPolicy: z
    .enum(["Revoke", "Retain"])
    .default("Revoke")
    .meta({ description: "Whether the policies are unbound when this object is deleted." }),
  suspend,
});

const status = z.object({
  ...commonStatus,
  appliedPolicyIds: z
    .array(z.string().max(256))
    .max(1_000)
    .optional()
    .meta({ description: "Policies that the operator bound on behalf of this object." }),
  foreignPolicyIds: z
    .array(z.string().max(256))
    .max(1_000)
    .optional()
    .meta({ description: "Policies bound to the account that no PolicyBinding asks for." }),
  policyCount: z.int().min(0).optional(),
  syncedAt: timestamp.optional(),
});

export const policyBindingKind = defineKind({
  kind: "PolicyBinding",
  plural: "policybindings",
  singular: "policybinding",
  shortName: "iampb",
  scope: "Namespaced",
  description: "Policies bound to a service account. Several PolicyBindings of one account add up.",
  spec,
  status,
  rules: [
    {
      at: "spec.serviceAccountRef",
      rule: "self.name == oldSelf.name",
      message: "serviceAccountRef is immutable: delete this PolicyBinding and create another one",
    },
  ],
  columns: [
    readyColumn,
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
      jsonPath: ".status.syncedAt",
      description: "Time since the console was last written or found to be as declared.",
    },
    ageColumn,
  ],
  selectableFields: [".spec.serviceAccountRef.name"],
});

export type PolicyBindingSpec = z.output<typeof spec>;
export type PolicyBindingStatus = z.output<typeof status>;
export type PolicyBinding = IamObject<PolicyBindingSpec, PolicyBindingStatus>;
