import { z } from "zod";
import {
  commonStatus,
  description,
  duration,
  localRef,
  objectName,
  suspend,
  timestamp,
} from "./fields.ts";
import { ageColumn, defineKind, readyColumn } from "./kind.ts";
import type { IamObject } from "./meta.ts";

const keyName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._a-zA-Z0-9]+$/);
const keyId = z.string().max(256);

const window = z
  .object({
    schedule: z
      .string()
      .min(9)
      .max(128)
      .meta({ description: "When the window opens: a cron expression of five fields." }),
    timeZone: z
      .string()
      .max(64)
      .default("UTC")
      .meta({ description: "IANA time zone of the schedule." }),
    duration: duration.meta({ description: "How long the window stays open." }),
  })
  .meta({ description: "A recurring time in which rotation is welcome." });

const rotation = z
  .object({
    renewBefore: duration
      .optional()
      .meta({ description: "Renew this long before expiry, such as 720h." }),
    renewBeforePercentage: z.int().min(1).max(99).optional().meta({
      description: "Renew when this share of the lifetime is left, in percent; 33 by default.",
    }),
    overlap: duration
      .default("24h")
      .meta({ description: "How long the superseded key is kept in use for slow consumers." }),
    windows: z.array(window).max(16).default([]).meta({
      description: "Rotate only inside these, except when expiry would come first.",
    }),
  })
  .prefault({});

const secret = z
  .object({
    name: objectName
      .optional()
      .meta({ description: "The Secret's name; defaults to metadata.name. Immutable." }),
    data: z
      .record(keyName, z.string().max(16_384))
      .refine((data) => Object.keys(data).length >= 1 && Object.keys(data).length <= 64)
      .default({ keyId: "${keyId}", secret: "${secret}" })
      .meta({
        maxProperties: 64,
        minProperties: 1,
        description:
          "The Secret's entries. ${keyId}, ${secret} and the other variables are replaced by their values, ${secret:json} by the value as a JSON string; $${ stands for a literal ${.",
      }),
    labels: z
      .record(z.string().max(317), z.string().max(63))
      .optional()
      .meta({ maxProperties: 32 }),
    annotations: z
      .record(z.string().max(317), z.string().max(4_096))
      .optional()
      .meta({ maxProperties: 32 }),
    onExisting: z
      .enum(["Fail", "Adopt"])
      .default("Fail")
      .meta({ description: "What to do when a Secret of that name exists that is not ours." }),
    deletionPolicy: z
      .enum(["Delete", "Retain"])
      .default("Delete")
      .meta({ description: "Whether the Secret goes with this ApiKey." }),
  })
  .prefault({});

const spec = z.object({
  serviceAccountRef: localRef.meta({ description: "The ServiceAccount to issue for. Immutable." }),
  description: description.optional(),
  expiresInDays: z
    .int()
    .min(1)
    .max(3_650)
    .default(90)
    .meta({ description: "The key's lifetime in days; the console recommends at most 90." }),
  rotation,
  secret,
  maxIssuesPerDay: z
    .int()
    .min(1)
    .max(100)
    .default(4)
    .meta({ description: "The most keys that may be issued for this object in 24 hours." }),
  suspend,
});

const status = z.object({
  ...commonStatus,
  lastHandledRotateAt: z.string().max(256).optional().meta({
    description:
      "The last value of the annotation iam.console.dev/rotate-requested-at that was acted on.",
  }),
  current: z
    .object({
      keyId,
      issuedAt: timestamp,
      expiresAt: timestamp,
      verifiedAt: timestamp.optional(),
      revision: z.int().min(1),
    })
    .optional()
    .meta({ description: "The key in the Secret." }),
  renewalTime: timestamp.optional().meta({ description: "When the key is due for renewal." }),
  secretName: z.string().max(253).optional(),
  attempt: z
    .object({
      id: z.string().max(64),
      revision: z.int().min(1),
      reason: z.string().max(64),
      startedAt: timestamp,
      /** When recovery first read the account's keys after the attempt had been left open. */
      recoveringSince: timestamp.optional(),
      /** Absent where the console's answer lists no keys. */
      knownKeyIds: z.array(keyId).max(10_000).optional(),
    })
    .optional()
    .meta({ description: "An issue that was announced and is not yet closed." }),
  superseded: z
    .array(
      z.object({
        keyId,
        issuedAt: timestamp,
        expiresAt: timestamp,
        supersededAt: timestamp,
        state: z.enum(["Live", "Disabled", "Deleted", "Expired"]),
      }),
    )
    .max(1_000)
    .optional()
    .meta({ description: "Earlier keys of this object that the console may still honour." }),
  orphaned: z
    .array(
      z.object({
        keyId: keyId.optional().meta({ description: "Absent where the console lists no keys." }),
        attemptId: z.string().max(64),
        observedAt: timestamp,
        expiresAt: timestamp,
      }),
    )
    .max(1_000)
    .optional()
    .meta({ description: "Keys that were issued but whose secret is lost." }),
  orphanCount: z.int().min(0).optional(),
  issues: z
    .object({ since: timestamp, count: z.int().min(0) })
    .optional()
    .meta({ description: "Keys issued in the current budget day." }),
});

export const apiKeyKind = defineKind({
  kind: "ApiKey",
  plural: "apikeys",
  singular: "apikey",
  shortName: "iamkey",
  scope: "Namespaced",
  description:
    "A key pair of a service account, written into a Secret and rotated before it expires.",
  spec,
  status,
  rules: [
    {
      at: "spec.serviceAccountRef",
      rule: "self.name == oldSelf.name",
      message: "serviceAccountRef is immutable: delete this ApiKey and create another one",
    },
    {
      at: "spec.secret",
      rule: "has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)",
      message: "secret.name is immutable: delete this ApiKey and create another one",
    },
    {
      at: "spec.rotation",
      rule: "!(has(self.renewBefore) && has(self.renewBeforePercentage))",
      message: "set at most one of renewBefore and renewBeforePercentage",
    },
    {
      at: "spec.secret.data",
      rule: "self.exists(k, self[k].contains('${secret}') || self[k].contains('${secret:json}'))",
      message:
        "one entry of secret.data must contain ${secret} or ${secret:json}: the secret is shown once and has to be kept",
    },
  ],
  columns: [
    readyColumn,
    {
      name: "Key-ID",
      type: "string",
      jsonPath: ".status.current.keyId",
      description: "The key in the Secret.",
    },
    { name: "Secret", type: "string", jsonPath: ".status.secretName", description: "The Secret." },
    {
      name: "Expires",
      type: "string",
      jsonPath: ".status.current.expiresAt",
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
      description: "Issued keys whose secret is lost.",
      priority: 1,
    },
    ageColumn,
  ],
  selectableFields: [".spec.serviceAccountRef.name"],
});

export type ApiKeySpec = z.output<typeof spec>;
export type ApiKeyStatus = z.output<typeof status>;
export type ApiKey = IamObject<ApiKeySpec, ApiKeyStatus>;
