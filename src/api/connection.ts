import { z } from "zod";
import { commonStatus, consoleId, duration, objectName, timestamp } from "./fields.ts";
import { ageColumn, type CelRule, defineKind, type PrinterColumn, readyColumn } from "./kind.ts";
import type { IamObject } from "./meta.ts";

const secretKey = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._a-zA-Z0-9]+$/);

const extraCall = z
  .object({
    method: z.enum(["POST", "PUT", "PATCH", "DELETE"]),
    path: z
      .string()
      .max(512)
      .regex(/^\/[^\s?#\\]*$/)
      .meta({ description: "Path under baseUrl; {saId} and {keyId} are filled in." }),
  })
  .meta({ description: "A call that the console's documentation does not show." });

const limits = z
  .object({
    requestsPerSecond: z.int().min(1).max(1_000).default(20),
    burst: z.int().min(1).max(10_000).default(40),
    concurrency: z.int().min(1).max(256).default(8),
    timeout: duration.default("15s").meta({ description: "Deadline of one call." }),
  })
  .prefault({})
  .meta({ description: "How much of the console this connection may use." });

const connectionFields = {
  baseUrl: z
    .string()
    .max(512)
    .regex(/^https?:\/\/[^\s?#@]+$/)
    .meta({ description: "The console's base address, such as https://console.example.com." }),
  insecureHttp: z
    .boolean()
    .default(false)
    .meta({ description: "Allows a plain http:// baseUrl. Credentials then travel unencrypted." }),
  caBundle: z
    .string()
    .max(65_536)
    .optional()
    .meta({ description: "PEM certificates to trust in addition to the system's." }),
  orgId: consoleId.meta({ description: "The organization that service accounts are created in." }),
  projectId: consoleId
    .optional()
    .meta({ description: "The project of ServiceAccounts that name none." }),
  domainId: consoleId.optional().meta({ description: "X-Domain-Id; defaults to orgId." }),
  domainName: consoleId.meta({ description: "X-Domain-Name: the organization's name." }),
  partitionId: consoleId.optional().meta({ description: "X-Partition-Id." }),
  credentials: z
    .object({
      login: z
        .object({ secretRef: z.object({ name: objectName }) })
        .optional()
        .meta({ description: "Log in with the keys username, password and domain of a Secret." }),
      token: z
        .object({ secretRef: z.object({ name: objectName, key: secretKey.default("token") }) })
        .optional()
        .meta({ description: "Use a ready-made user token from a Secret." }),
    })
    .meta({ description: "Exactly one of login and token." }),
  limits,
  extraCalls: z
    .object({
      disableKey: extraCall.optional(),
      deleteKey: extraCall.optional(),
      deleteServiceAccount: extraCall.optional(),
    })
    .optional()
    .meta({
      description:
        "Calls that an administrator knows beyond the documented ones. Without them the operator makes none.",
    }),
};

const labelSelector = z
  .object({
    matchLabels: z.record(z.string().max(317), z.string().max(63)).optional(),
  })
  .meta({ description: "Namespaces that carry all of these labels." });

const grant = z
  .object({
    namespaces: z
      .object({
        names: z.array(objectName).max(1_000).optional(),
        selector: labelSelector.optional(),
      })
      .meta({ description: "Namespaces by name or by label; one match is enough." }),
    policyIds: z
      .array(consoleId)
      .max(1_000)
      .default([])
      .meta({ description: 'Policies its PolicyBindings may bind; ["*"] for any.' }),
    importServiceAccounts: z
      .boolean()
      .default(false)
      .meta({ description: "Whether its ServiceAccounts may adopt existing accounts by saId." }),
    maxExpiresInDays: z
      .int()
      .min(1)
      .max(3_650)
      .default(90)
      .meta({ description: "The longest key lifetime its ApiKeys may ask for, in days." }),
  })
  .meta({ description: "What the matching namespaces may do with this connection." });
export type Grant = z.output<typeof grant>;

export const connectionSpec = z.object(connectionFields);
export const clusterConnectionSpec = z.object({
  ...connectionFields,
  grants: z
    .array(grant)
    .max(256)
    .default([])
    .meta({ description: "A namespace that no grant matches may not use this connection." }),
});

const connectionStatus = z.object({
  ...commonStatus,
  apiUrl: z.string().max(512).optional().meta({ description: "Where calls go." }),
  lastAuthenticatedAt: timestamp.optional(),
  clockSkewSeconds: z
    .int()
    .optional()
    .meta({ description: "The console's clock minus ours, from its Date header, in seconds." }),
  users: z
    .int()
    .min(0)
    .optional()
    .meta({ description: "Objects in the cluster that use this connection." }),
});

const rules: readonly CelRule[] = [
  {
    at: "spec.credentials",
    rule: "has(self.login) != has(self.token)",
    message: "set exactly one of credentials.login and credentials.token",
  },
  {
    at: "spec",
    rule: "self.baseUrl.startsWith('https://') || self.insecureHttp",
    message: "baseUrl must start with https://; set insecureHttp: true to allow plain http",
  },
];

const columns: readonly PrinterColumn[] = [
  readyColumn,
  {
    name: "URL",
    type: "string",
    jsonPath: ".spec.baseUrl",
    description: "The console's base address.",
  },
  { name: "Org", type: "string", jsonPath: ".spec.orgId", description: "The organization." },
  {
    name: "Reason",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
    description: "Why it is or is not ready.",
  },
  {
    name: "Users",
    type: "integer",
    jsonPath: ".status.users",
    description: "Objects that use it.",
    priority: 1,
  },
  ageColumn,
];

export const connectionKind = defineKind({
  kind: "Connection",
  plural: "connections",
  singular: "connection",
  shortName: "iamconn",
  scope: "Namespaced",
  description: "A login at an IAM console for the objects of one namespace.",
  spec: connectionSpec,
  status: connectionStatus,
  rules,
  columns,
  selectableFields: [],
});

export const clusterConnectionKind = defineKind({
  kind: "ClusterConnection",
  plural: "clusterconnections",
  singular: "clusterconnection",
  shortName: "iamcconn",
  scope: "Cluster",
  description:
    "A login at an IAM console that an administrator grants to namespaces. Its credentials Secret is in the operator's namespace.",
  spec: clusterConnectionSpec,
  status: connectionStatus,
  rules,
  columns,
  selectableFields: [],
});

export type ConnectionSpec = z.output<typeof connectionSpec>;
export type ClusterConnectionSpec = z.output<typeof clusterConnectionSpec>;
export type ConnectionStatus = z.output<typeof connectionStatus>;
export type Connection = IamObject<ConnectionSpec, ConnectionStatus>;
export type ClusterConnection = IamObject<ClusterConnectionSpec, ConnectionStatus>;
