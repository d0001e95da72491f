import * as z from "zod";
import {
  commonStatus,
  connectionRef,
  consoleId,
  description,
  suspend,
  text,
  timestamp,
  unreadableResponse,
} from "./fields.ts";
import { defineKind } from "./kind.ts";
import { atomic } from "./lists.ts";
import type { IamObject } from "./meta.ts";
import { matching } from "./rule.ts";

/** Internal. A recorded creation with an unknown outcome. */
const createAttempt = z.object({
  id: z.string().max(64).meta({ description: "Identifies the attempt." }),
  startTime: timestamp.meta({ description: "When the attempt was recorded." }),
  name: z.string().max(128).optional().meta({ description: "The name of the account to create." }),
  described: z.literal(true).optional().meta({
    description:
      "Internal. The console shows descriptions: the attempt created an account only if a description names it.",
  }),
});

/** Consoles trim names or refuse such ones; a block scalar of YAML ends with a line break. */
const accountName = matching(
  text(128).min(1),
  /^[^ \t\n\v\f\r]([^\t\n\v\f\r]*[^ \t\n\v\f\r])?$/,
  "must be one line without white space around it; in YAML, write >- instead of > and |- instead of |",
);

const spec = z.object({
  connectionRef,
  name: accountName.optional().meta({
    description:
      "The account's name in the console, at most 128 characters; defaults to the connection's accountNamePrefix, the namespace, a hyphen and metadata.name. Immutable.",
  }),
  orgId: consoleId
    .optional()
    .meta({ description: "Defaults to the connection's organization. Immutable." }),
  projectId: consoleId
    .optional()
    .meta({ description: "Defaults to the connection's project. Immutable." }),
  description: description.optional().meta({
    description:
      "Free text, shown in the console; the operator appends its own marker. Sent with the creation of the account: a later change does not reach the console.",
  }),
  saId: consoleId.optional().meta({
    description:
      "Import this existing account instead of creating an account. Requires importServiceAccounts in the grant. Immutable.",
  }),
  foreignPolicies: z.enum(["Keep", "Remove"]).default("Keep").meta({
    description:
      "Policies bound in the console that no PolicyBinding declares: Keep (default) or Remove.",
  }),
  access: z.enum(["Granted", "Revoked"]).default("Granted").meta({
    description:
      "Revoked unbinds every policy of the account and keeps it so. Granted binds what the PolicyBindings declare again; a leaked key of the account then works again too.",
  }),
  unmanagedKeys: z.enum(["Report", "Expect"]).default("Report").meta({
    description:
      "Keys issued outside the operator: Report (default) reports keys that no ApiKey names, with an alert; Expect only counts them.",
  }),
  deletionPolicy: z.enum(["Revoke", "Retain", "Delete"]).optional().meta({
    description:
      "Revoke unbinds every policy and leaves the account in the console (default for created accounts); Retain leaves it untouched (default for imported accounts); Delete requires extraCalls.deleteServiceAccount.",
  }),
  suspend: suspend.meta({
    description:
      "Pauses changes of the account and of its list of policies; deletion waits. Access is still revoked, and policies that are no longer granted are still unbound. ApiKeys of the account continue: each has its own suspend.",
  }),
});

/** Whether the console's account is the object's. */
const ownerships = ["Owned", "NotOwned", "Claimed", "Gone", "NotFound"] as const;
export type Ownership = (typeof ownerships)[number];

export const MAX_EXPLAINED_ATTEMPTS = 100;
/** Further keys of one attempt are unmanaged. */
export const MAX_KEYS_OF_ATTEMPT = 100;

/** Who answers for a policy that is bound to an account. */
const policyStates = ["Declared", "Foreign", "Abandoned", "Unrevoked"] as const;
export type PolicyState = (typeof policyStates)[number];

const status = z.object({
  ...commonStatus,
  saId: z
    .string()
    .max(256)
    .optional()
    .meta({ description: "The account's identifier in the console." }),
  name: z.string().max(128).optional().meta({
    description:
      "The name that the operator created the account with; absent for an imported account.",
  }),
  tpn: z
    .string()
    .max(1024)
    .optional()
    .meta({ description: "The account's resource name, which policies are bound to." }),
  orgId: z
    .string()
    .max(256)
    .optional()
    .meta({ description: "The organization the account belongs to." }),
  projectId: z
    .string()
    .max(256)
    .optional()
    .meta({ description: "The project the account belongs to." }),
  consoleURL: z.string().max(2_048).optional().meta({
    description:
      "Address of the account's console. If the connection's address differs, the operator verifies the account again.",
  }),
  state: z
    .string()
    .max(64)
    .optional()
    .meta({ description: "The account's status in the console." }),
  ownership: z.enum(ownerships).optional().meta({
    description:
      "Whether the account is this object's, as last read in the console. Owned: it is. NotOwned: it has another name, maker, organization or project. Claimed: another ServiceAccount manages it. Gone: the console no longer has it. NotFound: the console does not have spec.saId. Absent until the console has shown it.",
  }),
  describedCluster: z.string().max(63).optional().meta({
    description:
      "The cluster that the account's description names, if that is not this cluster. Unless the description was forged, the operator of that cluster created the account and may still manage it.",
  }),
  origin: z
    .enum(["Created", "Imported"])
    .optional()
    .meta({ description: "Whether the operator created or imported the account." }),
  liveKeyIds: atomic(z.string().max(256), 10_000)
    .optional()
    .meta({ description: "The account's valid keys, if the console lists keys." }),
  inactiveKeyIds: atomic(z.string().max(256), 10_000)
    .optional()
    .meta({ description: "Keys that the console lists as inactive or expired." }),
  listsKeyStates: z.literal(true).optional().meta({
    description:
      "Internal. The console lists each of these keys as active. Otherwise, each key in use is tried every 30 to 60 minutes.",
  }),
  lastKeyListTime: timestamp
    .optional()
    .meta({ description: "No earlier than this the console listed these keys." }),
  keyCount: z.int().min(0).optional().meta({
    description:
      "How many valid keys the console lists; absent until it has listed one, and if the console no longer has the account.",
  }),
  unmanagedKeys: atomic(
    z.object({
      keyId: z.string().max(256).meta({ description: "The key's identifier in the console." }),
      observedTime: timestamp.meta({ description: "When it was found that no ApiKey names it." }),
      apiKey: z.string().max(253).optional().meta({
        description:
          "The ApiKey that issued it, by its description; the ApiKey lists it as orphaned.",
      }),
      attemptId: z.string().max(64).optional().meta({
        description: "The attempt that issued it, by its description.",
      }),
      cluster: z.string().max(63).optional().meta({
        description:
          "The cluster that its description names: the `--cluster-name` of the operator that issued it, unless the description was forged.",
      }),
    }),
    50,
  )
    .optional()
    .meta({ description: "Keys in the console that no ApiKey names; the first 50." }),
  unmanagedKeyCount: z.int().min(0).optional().meta({
    description: "How many keys in the console no ApiKey names; absent if it does not list keys.",
  }),
  orphanedAccounts: atomic(
    z.object({
      saId: z.string().max(256).meta({ description: "The account's identifier in the console." }),
      observedTime: timestamp.meta({ description: "When a list first showed it." }),
      evidence: z.enum(["Description", "Name"]).optional().meta({
        description:
          "How the account was found. `Description`: its description names this object. `Name`: the console shows no descriptions, and the account has the name of the object's account, so that another person or program may have created it.",
      }),
    }),
    20,
  )
    .optional()
    .meta({
      description:
        "Additional accounts in the console, created for this object by a call that took effect late or twice, as far as the evidence shows. The operator never uses them.",
    }),
  explainedAttempts: atomic(
    z.object({
      id: z.string().max(64).meta({ description: "The attempt of an ApiKey." }),
      keyIds: atomic(z.string().max(256), MAX_KEYS_OF_ATTEMPT).optional().meta({
        description:
          "The keys that it issued; empty if it issued none. Absent if the console's lists do not show it.",
      }),
      missingKeyId: z.string().max(256).optional().meta({
        description: "A key in use that these lists lack, so that they prove nothing.",
      }),
    }),
    MAX_EXPLAINED_ATTEMPTS,
  )
    .optional()
    .meta({
      description:
        "Internal. What attempts to issue a key whose response was lost have issued, until their ApiKeys list it.",
    }),
  expiredKeyIds: atomic(z.string().max(256), 10_000).optional().meta({
    description: "Internal. Expired keys of ApiKeys that the console still lists.",
  }),
  attempt: createAttempt
    .optional()
    .meta({ description: "Internal. A recorded creation with an unknown outcome." }),
  lastAttemptId: z.string().max(64).optional().meta({
    description:
      "Internal. The creation that was closed last. The annotation iam-operator.io/intent holds an open one if it names another.",
  }),
  unreadableResponse: unreadableResponse("createServiceAccount"),
  lastRecoveryTime: timestamp.optional().meta({
    description:
      "When a creation with an unknown outcome was last closed. The console's accounts are listed again 1, 5, 15 and 60 minutes afterwards.",
  }),
  bindings: z
    .object({
      policies: atomic(
        z.object({
          policyId: z.string().max(256).meta({ description: "The policy's identifier." }),
          state: z.enum(policyStates).meta({
            description:
              "Declared: a PolicyBinding declares it. Foreign: it was bound outside the operator. Abandoned: a PolicyBinding bound it and left it; it is unbound when the connection no longer grants it. Unrevoked: its deleted PolicyBinding could not unbind it in time; the operator unbinds it when the console accepts it, unless a PolicyBinding declares it.",
          }),
          missing: z.boolean().optional().meta({
            description:
              "True if the last read did not show the policy and the operator does not bind it before `contendedUntil`.",
          }),
          consoleSpelling: z.string().max(256).optional().meta({
            description:
              "The identifier as the console spells it, if that is not the declared spelling.",
          }),
        }),
        2_000,
      )
        .optional()
        .meta({ description: "Each policy bound to the account, as last written or read." }),
      policyCount: z.int().min(0).optional().meta({
        description:
          "How many policies are bound in all, as last read; absent if the console no longer has the account.",
      }),
      lastSyncTime: timestamp.optional().meta({
        description:
          "When the bindings were last written, or found to be as declared (noted once an hour).",
      }),
      contendedUntil: timestamp.optional().meta({
        description:
          "Until when the operator does not correct changes made outside of it, after five corrections within an hour (`Contended`).",
      }),
      ungrantedTime: timestamp.optional().meta({
        description:
          "Since when no grant of the connection matches the namespace. The grace period of the connection starts here.",
      }),
      unansweredSync: z
        .object({
          time: timestamp.meta({ description: "When the operator gave up the last such call." }),
          policyIds: atomic(z.string().max(256), 1_000)
            .optional()
            .meta({ description: "Policies that this call can still bind." }),
        })
        .optional()
        .meta({
          description:
            "A syncBindings call without a usable response, which can still take effect. The operator reads the bindings at short intervals for 10 minutes and unbinds withdrawn policies that reappear.",
        }),
      unreadable: z.boolean().optional().meta({
        description:
          "True if the console's last answer about the bound policies could not be read: the other fields then show what the console accepted, and whether it is bound is unknown.",
      }),
      notAppliedTime: timestamp.optional().meta({
        description:
          "Since when reads contradict a syncBindings call that the console answered with success. The operator repeats the call. Absent once a read shows the declared policies.",
      }),
      revocationNotAppliedTime: timestamp.optional().meta({
        description:
          "The same for a call that revokes access: reads since then show that policies are still bound.",
      }),
      revocation: z
        .object({
          evidence: z.enum(["Read", "AcceptedCall"]).meta({
            description:
              "Read: listBindings showed that no policy is bound. AcceptedCall: the console accepted an empty list of policies, and no answer since then could be read.",
          }),
          time: timestamp.meta({
            description:
              "When the evidence was found; renewed every minute while a call without a usable response can still take effect.",
          }),
        })
        .optional()
        .meta({
          description: "If access is revoked: the evidence since then that no policy is bound.",
        }),
    })
    .optional()
    .meta({ description: "Policies bound to the account, as last written or read." }),
});

/**
 * An intent as stored in its annotation. Anyone with permission to edit the object can forge an intent. So it requires
 * `described`, with which only an account whose description names the attempt counts; a forged intent does not give the
 * object an account that was created outside the operator.
 */
export const serviceAccountIntent = z.object({
  attempt: createAttempt.required({ described: true }),
  after: z.string().optional(),
});

export const serviceAccountKind = defineKind({
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  singular: "serviceaccount",
  shortName: "iamsa",
  scope: "Namespaced",
  hasFinalizer: true,
  writtenBy: "edit",
  description: "A service account in the console: created by the operator, or imported by saId.",
  spec,
  status,
  rules: (["name", "orgId", "projectId", "saId", "connectionRef"] as const).map((field) => ({
    at: "spec",
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    field,
    message: "is immutable; delete this ServiceAccount and create a new one",
  })),
  columns: [
    { name: "SA-ID", type: "string", jsonPath: ".status.saId", description: "The account's id." },
    {
      name: "State",
      type: "string",
      jsonPath: ".status.state",
      description: "The account's status in the console.",
    },
    {
      name: "Policies",
      type: "integer",
      jsonPath: ".status.bindings.policyCount",
      description: "Policies bound to the account.",
    },
    {
      name: "Keys",
      type: "integer",
      jsonPath: ".status.keyCount",
      description: "Valid keys the console lists.",
    },
  ],
  selectableFields: [".spec.saId", ".status.saId"],
});

export type ServiceAccountSpec = z.output<typeof spec>;
export type ServiceAccountStatus = z.output<typeof status>;
export type ServiceAccount = IamObject<ServiceAccountSpec, ServiceAccountStatus>;
