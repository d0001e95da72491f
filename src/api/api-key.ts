import * as z from "zod";
import { hasRun, isCron } from "../util/cron.ts";
import { DAY } from "../util/time.ts";
import {
  celDuration,
  commonStatus,
  description,
  duration,
  durationBetween,
  entries,
  localRef,
  ms,
  objectName,
  SECRET_KEY,
  suspend,
  text,
  timestamp,
  unreadableResponse,
} from "./fields.ts";
import { defineKind, type ObjectOf } from "./kind.ts";
import { boundedKeys, isMetadataKey, labelSelector, labelValue, MOST_IN_KEY } from "./labels.ts";
import { atomic, mapOf } from "./lists.ts";
import { GROUP } from "./meta.ts";
import { celPattern, matching, withRule } from "./rule.ts";
import { OPAQUE, secretTypeSchema, typedDataRules } from "./secret-types.ts";
import { SECRET_PATTERN, secretVariables, TEMPLATE_PATTERN } from "./secret-variables.ts";

const keyId = z.string().max(256).meta({ description: "The key's identifier in the console." });
const issueTime = timestamp.meta({ description: "When the issuing call was made." });
const expirationTime = timestamp.meta({ description: "When the key expires." });
/** The account of a key. Absent in statuses that were not written by the operator. */
const keyAccount = {
  serviceAccount: z
    .string()
    .max(253)
    .optional()
    .meta({ description: "The ServiceAccount that the key was issued for." }),
  saId: z
    .string()
    .max(256)
    .optional()
    .meta({ description: "Identifier of the key's account in the console." }),
};

/** The maximum number of superseded keys, and of orphaned keys, in a status. */
export const MAX_LISTED_KEYS = 1_000;

/** Issues that a status reports: more than any `maxIssuesPerDay`. */
export const MAX_RECENT_ISSUES = 200;

/** Handled values of the annotation for rotations that a status remembers before the last one. */
export const MAX_EARLIER_REQUESTS = 9;

const SCHEDULE_PATTERN = /^[-0-9A-Za-z*,/]+( +[-0-9A-Za-z*,/]+){4}$/;

/** Abbreviations such as PST mean several zones, and some time zone databases lack them. */
const ZONE_PATTERN = /^(UTC|[A-Za-z][-+_A-Za-z0-9]*([/][-+_A-Za-z0-9]+)+)$/;
const ZONE_MESSAGE = "must be an IANA time zone such as Europe/Berlin, or UTC";

const window = z
  .object({
    schedule: matching(
      z.string().max(128),
      SCHEDULE_PATTERN,
      "must be a cron expression of five fields: minute, hour, day of month, month, day of week, such as 0 3 * * 1-5",
    )
      .refine((text) => !SCHEDULE_PATTERN.test(text) || isCron(text), {
        error: "must be a cron expression whose fields are in range, such as 0 3 * * 1-5",
      })
      .refine((text) => !SCHEDULE_PATTERN.test(text) || !isCron(text) || hasRun(text), {
        error: "must name a day that exists: this window would never open",
      })
      .meta({
        description:
          "When the window opens: a cron expression of five fields, such as 0 3 * * 1-5.",
      }),
    timeZone: withRule(matching(z.string().max(64), ZONE_PATTERN, ZONE_MESSAGE), {
      // An unknown zone is an error of the rule. What is not of the form of a zone is told once.
      rule: `!self.matches(${celPattern(ZONE_PATTERN)}) || timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0`,
      message: ZONE_MESSAGE,
      holds: (zone) => !ZONE_PATTERN.test(zone) || isTimeZone(zone),
    })
      .default("UTC")
      .meta({
        description:
          "The IANA time zone of the schedule, such as Europe/Berlin; default UTC. Abbreviations such as PST are refused.",
      }),
    duration: durationBetween("1m", "8760h").meta({
      description: "How long the window stays open: 1m to 8760h.",
    }),
  })
  .meta({ description: "A recurring time in which rotation is welcome." });

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

const anyRotation = withRule(
  z.object({
    renewBefore: durationBetween("1h", "87600h").optional().meta({
      description:
        "Renew this long before expiry, such as 720h; at least 1h, and less than the key's lifetime, but no earlier than 30 minutes after the issue. Up to a tenth of it earlier, so that keys issued together are not renewed together: 720h to 792h.",
    }),
    renewBeforePercentage: z.int().min(1).max(99).optional().meta({
      description:
        "Renew when this percentage of the lifetime remains: 1 to 99. Default 33 unless renewBefore is set. Renewal comes up to a tenth of it earlier (33 to 36.3), so that keys issued together are not renewed together.",
    }),
    overlap: duration.default("24h").meta({
      description:
        "How long the previous key is protected after a rotation; default 24h, and values below 5m count as 5m. Without extraCalls it works until it expires.",
    }),
    maxOverlapExtension: duration.optional().meta({
      description:
        "Maximum extension of the overlap while Pods use an older version of the Secret, such as 72h; never beyond the previous key's expiry.",
    }),
    windows: atomic(window, 16).default([]).meta({
      description:
        "Windows for scheduled rotations, at most 16; default none. Ignored if the next one opens in the last tenth of the lifetime, or in its last hour.",
    }),
  }),
  {
    rule: "!(has(self.renewBefore) && has(self.renewBeforePercentage))",
    message: "must have at most one of renewBefore and renewBeforePercentage",
    holds: ({ renewBefore, renewBeforePercentage }) =>
      renewBefore === undefined || renewBeforePercentage === undefined,
  },
);

const rotation = anyRotation.prefault({}).meta({ description: "When the key is renewed." });

const anyData = entries(
  z.record(
    z.string(),
    matching(
      text(16_384),
      TEMPLATE_PATTERN,
      `must use no variables but ${secretVariables.join(", ")}, written as \${saId} or \${saId:json}; for a literal \${ write $\${`,
    ),
  ),
  32,
  // A map's keys are beyond CEL's cost limit, so only the operator's own parser checks them.
).refine((map) => Object.keys(map).every((key) => SECRET_KEY.test(key)), {
  error: "must have entry names of letters, digits, '-', '_' and '.', at most 253 characters long",
});

const MOST_OF_DATA = 65_536;

const boundedData = withRule(boundedKeys(anyData, 253), {
  rule: `self.map(key, size(self[key])).sum() <= ${MOST_OF_DATA}`,
  message: `must have at most ${MOST_OF_DATA} characters in all`,
  holds: (map) => lengthOf(Object.values(map).join("")) <= MOST_OF_DATA,
});

/** Counts code points, as the API server does. */
function lengthOf(value: string): number {
  return value.length <= MOST_OF_DATA ? value.length : Array.from(value).length;
}

const data = withRule(boundedData, {
  rule: `self.exists(key, self[key].matches(${celPattern(SECRET_PATTERN)}))`,
  message:
    "must have one entry with ${secret} or ${secret:json}: the console shows the secret once, and it would be lost",
  holds: (map) => Object.values(map).some((template) => SECRET_PATTERN.test(template)),
});

/** A map of labels or annotations that the user can choose. */
function metadataEntries(value: z.ZodString) {
  const map = entries(z.record(z.string(), value), 32).refine(
    (chosen) => Object.keys(chosen).every(isMetadataKey),
    { error: "must have keys such as team or example.com/team" },
  );
  return withRule(boundedKeys(map, MOST_IN_KEY), {
    rule: `self.all(key, !key.startsWith('${GROUP}/'))`,
    message: `must not begin with ${GROUP}/, which the operator writes itself`,
    holds: (chosen) => Object.keys(chosen).every((key) => !key.startsWith(`${GROUP}/`)),
  });
}

const anySecret = z.object({
  name: objectName
    .max(248)
    .optional()
    .meta({ description: "The Secret's name; defaults to metadata.name. Immutable." }),
  type: secretTypeSchema.default(OPAQUE).meta({
    description:
      "The Secret's type: Opaque (default), kubernetes.io/basic-auth with the entries username and password, kubernetes.io/dockerconfigjson with the entry .dockerconfigjson, or another type such as example.com/type. Immutable.",
  }),
  data: data.default({ keyId: "${keyId}", secret: "${secret}" }).meta({
    description:
      "The Secret's entries, 1 to 32, with at most 65536 characters in all; default keyId and secret. ${keyId}, ${secret} and the other variables are replaced by their values, ${secret:json} by the value as a JSON string; $${ stands for a literal ${.",
  }),
  labels: metadataEntries(labelValue).optional().meta({
    description:
      "Labels of the Secret, at most 32. Labels removed here are removed from the Secret; labels of other owners stay.",
  }),
  annotations: metadataEntries(text(4_096)).optional().meta({
    description:
      "Annotations of the Secret, at most 32. Annotations removed here are removed from the Secret; annotations of other owners stay.",
  }),
  onExisting: z.enum(["Fail", "Adopt"]).default("Fail").meta({
    description:
      "What to do if a Secret of another owner has this name. Fail (default) leaves it; Adopt overwrites it if its label iam-operator.io/api-key names this ApiKey.",
  }),
  deletionPolicy: z.enum(["Delete", "Retain"]).default("Delete").meta({
    description:
      "Whether the Secret is deleted with this ApiKey (Delete, the default) or stays (Retain).",
  }),
});

const secret = typedDataRules
  .reduce((schema, rule) => withRule(schema, rule), anySecret)
  .prefault({})
  .meta({ description: "The Secret that the key is written to." });

/** Compares a field of the Secret with its value before an update, in CEL. */
function sameInSecret(field: "name" | "type", whenAbsent: string): string {
  const valueIn = (spec: string) =>
    `(has(${spec}.secret) && has(${spec}.secret.${field}) ? ${spec}.secret.${field} : '${whenAbsent}')`;
  return `${valueIn("self")} == ${valueIn("oldSelf")}`;
}

const workloadRef = z
  .object({
    kind: z
      .enum(["Deployment", "StatefulSet", "DaemonSet", "Rollout"])
      .default("Deployment")
      .meta({ description: "The workload's kind. Rollout is a Rollout of Argo Rollouts." }),
    name: objectName.meta({ description: "The workload's name." }),
  })
  .meta({ description: "A workload in the same namespace." });

const rollout = withRule(
  z.object({
    workloadRefs: mapOf(workloadRef, ["kind", "name"], 16)
      .min(1)
      .optional()
      .meta({ description: "Workloads by name, 1 to 16." }),
    selector: labelSelector.optional().meta({
      description:
        "Deployments, StatefulSets and DaemonSets by label; {} selects every workload that reads the Secret.",
    }),
    minInterval: durationBetween("0s", "24h").default("5m").meta({
      description: "Minimum time between two restarts of a workload: 0s to 24h.",
    }),
  }),
  {
    rule: "has(self.workloadRefs) != has(self.selector)",
    message: "must have exactly one of workloadRefs and selector",
    holds: ({ workloadRefs, selector }) =>
      (workloadRefs === undefined) !== (selector === undefined),
  },
).meta({
  description:
    "Workloads to restart when the Secret changed and they read it only at their start: as variables or by subPath. Requires --consumers=restart.",
});

const anySpec = z.object({
  serviceAccountRef: localRef.meta({
    description:
      "The ServiceAccount to issue for. If it changes, a key is issued for the new account and replaces the key in the Secret; the earlier key is superseded.",
  }),
  description: description.optional(),
  expiresInDays: z.int().min(1).max(3_650).default(90).meta({
    description: "The key's lifetime in days: 1 to 3650. The console recommends at most 90.",
  }),
  rotation,
  secret,
  rollout: rollout.optional(),
  maxIssuesPerDay: z.int().min(1).max(100).default(4).meta({
    description:
      "Safety limit: keys in any 24 hours, 1 to 100; at least 2 if expiresInDays is 1. Rotations requested by annotation are exempt and do not count; the repeat of an interrupted one does.",
  }),
  suspend: suspend.meta({
    description:
      "Pauses all changes of this object and its Secret; deletion waits. Issued keys keep working, are still checked, and still expire. The ServiceAccount's suspend does not pause ApiKeys.",
  }),
});

const renewableSpec = withRule(anySpec, {
  field: "maxIssuesPerDay",
  rule: "self.expiresInDays > 1 || self.maxIssuesPerDay > 1",
  message:
    "must be at least 2 if expiresInDays is 1, or a key could be renewed only when it has expired",
  holds: ({ expiresInDays, maxIssuesPerDay }) => expiresInDays > 1 || maxIssuesPerDay > 1,
});

const spec = withRule(renewableSpec, {
  field: "rotation",
  rule: `!has(self.rotation) || !has(self.rotation.renewBefore) || !(${celDuration("self.rotation.renewBefore")}) || duration(self.rotation.renewBefore).getHours() < self.expiresInDays * 24`,
  message:
    "renewBefore must be shorter than the key's lifetime (expiresInDays times 24h), or the key would be renewed without end",
  holds: ({ rotation: { renewBefore }, expiresInDays }) =>
    renewBefore === undefined || ms(renewBefore) < expiresInDays * DAY,
});

const status = z.object({
  ...commonStatus,
  lastHandledRotateAt: z.string().max(256).optional().meta({
    description: "Last handled value of the annotation iam-operator.io/rotate-requested-at.",
  }),
  earlierRotateRequests: atomic(z.string().max(256), MAX_EARLIER_REQUESTS).optional().meta({
    description:
      "Up to nine values of that annotation that were handled before, newest first. They are not handled again.",
  }),
  current: z
    .object({
      keyId,
      issueTime,
      expirationTime,
      verificationTime: timestamp.optional().meta({
        description: "When the console first accepted the key pair.",
      }),
      revision: z.int().min(1).meta({ description: "Counts the keys of this object, from 1." }),
      ...keyAccount,
    })
    .optional()
    .meta({
      description:
        "The key that was delivered last: the key in the Secret, unless Verified is Unknown.",
    }),
  pending: z
    .object({ keyId, expirationTime, ...keyAccount })
    .optional()
    .meta({
      description:
        "A new key that is not delivered yet. Its pair is in the pending Secret NAME-next, or, until that is written, in the memory of the operator.",
    }),
  renewalTime: timestamp.optional().meta({ description: "When the key is due for renewal." }),
  secretName: z.string().max(253).optional().meta({ description: "The Secret's name." }),
  content: z
    .object({
      hash: z.string().max(64).meta({
        description: "Changes with the content of the Secret; computed without the key's secret.",
      }),
      replacementTime: timestamp.optional().meta({
        description: "When it replaced the previous content; absent for the first content.",
      }),
      declarationHash: z.string().max(64).optional().meta({
        description:
          "Changes with everything that the operator declares of the Secret, and is made without a secret.",
      }),
      resourceVersion: z.string().max(64).optional().meta({
        description:
          "Internal. The Secret's resource version when its content was last verified. It is read again when the version changes.",
      }),
    })
    .optional()
    .meta({ description: "Content of the Secret without the previous pair." }),
  consumers: z
    .object({
      pods: z.int().min(0).meta({ description: "Pods that use the Secret." }),
      stale: z.int().min(0).meta({
        description: "Pods that still use an older version of the Secret.",
      }),
    })
    .optional()
    .meta({ description: "Pods that use the Secret, if the operator counts them." }),
  attempt: z
    .object({
      id: z.string().max(64).meta({
        description: "Identifies the attempt; part of the key's description in the console.",
      }),
      revision: z.int().min(1).meta({ description: "The revision that the key would have." }),
      reason: z.string().max(64).meta({ description: "Why a key was needed." }),
      startTime: timestamp.meta({ description: "When the attempt was recorded." }),
      expiresInDays: z
        .int()
        .min(1)
        .optional()
        .meta({ description: "The requested lifetime in days." }),
      knownKeyIds: atomic(keyId, 10_000).optional().meta({
        description:
          "The account's keys before the attempt; absent if the console does not list keys.",
      }),
      settled: z.literal(true).optional().meta({
        description:
          "True once the call is over and no Secret holds its key: the ServiceAccount then finds out what it has issued.",
      }),
      ...keyAccount,
    })
    .optional()
    .meta({ description: "Internal. A recorded attempt to issue a key that is not closed yet." }),
  lastAttemptId: z.string().max(64).optional().meta({
    description:
      "Internal. The attempt that was closed last. The annotation iam-operator.io/intent holds an open one if it names another.",
  }),
  unreadableResponse: unreadableResponse("issueKey"),
  lastRecoveryTime: timestamp.optional().meta({
    description:
      "When an issuance with an unknown outcome was last closed. The account is read from the console sooner for an hour afterwards.",
  }),
  superseded: atomic(
    z.object({
      keyId,
      issueTime,
      expirationTime,
      supersededTime: timestamp.meta({ description: "When another key took its place." }),
      state: z.enum(["Live", "Inactive", "Disabled", "Deleted", "Unknown", "Expired"]).meta({
        description:
          "State of the key. A Live key still works as far as is known. The console lists an Inactive key as inactive or expired, or no longer lists it, or no longer has its account. The operator has revoked a Disabled or Deleted key, and a read showed it. Unknown: the console answered answeredCall with success, and does not show whether the key still works. If a later list shows such a key as valid, it is Live again.",
      }),
      answeredCall: z.enum(["disableKey", "deleteKey"]).optional().meta({
        description: "The last call to revoke the key that the console answered with success.",
      }),
      stateTime: timestamp.optional().meta({
        description: "When the operator revoked the key.",
      }),
      ...keyAccount,
    }),
    MAX_LISTED_KEYS,
  )
    .optional()
    .meta({
      description:
        "Superseded keys of this object, each with its state, until a day after it expires.",
    }),
  orphaned: atomic(
    z.object({
      keyId: keyId.optional().meta({ description: "Absent if the console does not list keys." }),
      attemptId: z.string().max(64).meta({ description: "The attempt that it comes from." }),
      observedTime: timestamp.meta({ description: "When the loss was noticed." }),
      expirationTime: timestamp.meta({ description: "The latest time at which it expires." }),
      late: z.boolean().optional().meta({
        description:
          "True if the key was found in the console when its attempt was closed already, so that the expiry is an estimate.",
      }),
      ...keyAccount,
    }),
    MAX_LISTED_KEYS,
  )
    .optional()
    .meta({ description: "Keys that were issued but whose secret was lost." }),
  rotationPending: z
    .boolean()
    .optional()
    .meta({ description: "Whether a requested rotation was interrupted and is still to be done." }),
  orphanCount: z.int().min(0).optional().meta({
    description: "How many keys in orphaned have not expired.",
  }),
  recentIssues: atomic(
    z.object({
      time: timestamp.meta({ description: "When the key was asked for." }),
      requested: z.boolean().optional().meta({
        description: "True for a rotation requested by annotation.",
      }),
    }),
    MAX_RECENT_ISSUES,
  )
    .optional()
    .meta({
      description:
        "The keys asked for in the last 24 hours, newest first. Those not requested by annotation count for maxIssuesPerDay.",
    }),
});

/** The status fields that an intent changes, as stored in its annotation. */
export const apiKeyIntent = status
  .pick({
    attempt: true,
    recentIssues: true,
    lastHandledRotateAt: true,
    earlierRotateRequests: true,
  })
  .required({ attempt: true })
  .extend({ after: z.string().optional() });

export const apiKeyKind = defineKind({
  kind: "ApiKey",
  plural: "apikeys",
  singular: "apikey",
  shortName: "iamkey",
  scope: "Namespaced",
  hasFinalizer: true,
  writtenBy: "edit",
  description:
    "A key pair of a service account, written into a Secret and rotated before it expires.",
  spec,
  unstoredDefaults: ["rotation", "secret"],
  status,
  maxNameLength: 63,
  rules: [
    {
      at: "spec",
      field: "secret.name",
      rule: sameInSecret("name", ""),
      message: "is immutable; delete this ApiKey and create a new one",
    },
    {
      at: "spec",
      field: "secret.type",
      rule: sameInSecret("type", OPAQUE),
      message:
        "is immutable, as a Secret's type is; create another ApiKey with another secret.name",
    },
  ],
  columns: [
    {
      name: "Key-ID",
      type: "string",
      jsonPath: ".status.current.keyId",
      description: "The key in the Secret.",
      priority: 1,
    },
    { name: "Secret", type: "string", jsonPath: ".status.secretName", description: "The Secret." },
    {
      name: "Expires",
      type: "string",
      jsonPath: ".status.current.expirationTime",
      description: "When the key expires.",
    },
    {
      name: "Renews",
      type: "string",
      jsonPath: ".status.renewalTime",
      description: "When the key is due for renewal.",
    },
    {
      name: "Orphans",
      type: "integer",
      jsonPath: ".status.orphanCount",
      description: "Keys that were issued but whose secret was lost.",
      priority: 1,
    },
    {
      name: "Stale",
      type: "integer",
      jsonPath: ".status.consumers.stale",
      description: "Pods that still use an older version of the Secret.",
      priority: 1,
    },
  ],
  selectableFields: [".spec.serviceAccountRef.name"],
});

export type ApiKeySpec = z.output<typeof spec>;
export type ApiKeyStatus = z.output<typeof status>;
export type ApiKey = ObjectOf<typeof apiKeyKind>;
