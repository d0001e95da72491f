import * as z from "zod";
import { HOUR, parseDuration } from "../util/time.ts";
import {
  celDuration,
  commonStatus,
  consoleId,
  consoleName,
  DURATION,
  durationBetween,
  grantedId,
  objectName,
  SECRET_KEY,
  suspend,
  timestamp,
} from "./fields.ts";
import { defineKind, type PrinterColumn } from "./kind.ts";
import { nonEmptyLabelSelector } from "./labels.ts";
import { mapOf, setOf } from "./lists.ts";
import type { IamObject } from "./meta.ts";
import { matching, withRule } from "./rule.ts";

const secretKey = matching(
  z.string().max(253),
  SECRET_KEY,
  "must be the name of an entry of a Secret: letters, digits, '-', '_' and '.'",
);
const configMapKey = matching(
  z.string().max(253),
  SECRET_KEY,
  "must be the name of an entry of a ConfigMap: letters, digits, '-', '_' and '.'",
);

/** A segment is never empty, so a path cannot name another host. */
const CALL_PATH = /^([/]([-._~!$&()*+,;=:@%A-Za-z0-9]|[{]saId[}]|[{]keyId[}])+)+[/]?$/;

const extraCall = z
  .object({
    method: z.enum(["POST", "PUT", "PATCH", "DELETE"]).meta({ description: "The HTTP method." }),
    path: matching(
      z.string().max(512),
      CALL_PATH,
      "must be a path under baseURL such as /api/v1/accounts/{saId}, with no variables but {saId} and {keyId}, and without a query",
    ).meta({ description: "The path under baseURL; {saId} and {keyId} are filled in." }),
  })
  .meta({ description: "A call that the console's documentation does not show." });

const KEY_CALL_MESSAGE =
  "must contain {saId} and {keyId}, which identify the key of a service account";
const ACCOUNT_CALL_MESSAGE =
  "must contain {saId} and not {keyId}: the call is about a whole service account";

const anyExtraCalls = z.object({
  disableKey: extraCall
    .optional()
    .meta({ description: "Disables a superseded key once its overlap is over." }),
  deleteKey: extraCall
    .optional()
    .meta({ description: "Deletes a superseded key once its overlap is over." }),
  deleteServiceAccount: extraCall
    .optional()
    .meta({ description: "Deletes an account whose deletionPolicy is Delete." }),
});

const isAboutKey = (call: z.output<typeof extraCall> | undefined) =>
  call === undefined || (call.path.includes("{saId}") && call.path.includes("{keyId}"));

const extraCalls = [
  {
    field: "disableKey",
    rule: "!has(self.disableKey) || (self.disableKey.path.contains('{saId}') && self.disableKey.path.contains('{keyId}'))",
    message: KEY_CALL_MESSAGE,
    holds: ({ disableKey }: z.output<typeof anyExtraCalls>) => isAboutKey(disableKey),
  },
  {
    field: "deleteKey",
    rule: "!has(self.deleteKey) || (self.deleteKey.path.contains('{saId}') && self.deleteKey.path.contains('{keyId}'))",
    message: KEY_CALL_MESSAGE,
    holds: ({ deleteKey }: z.output<typeof anyExtraCalls>) => isAboutKey(deleteKey),
  },
  {
    field: "deleteServiceAccount",
    rule: "!has(self.deleteServiceAccount) || (self.deleteServiceAccount.path.contains('{saId}') && !self.deleteServiceAccount.path.contains('{keyId}'))",
    message: ACCOUNT_CALL_MESSAGE,
    holds: ({ deleteServiceAccount: call }: z.output<typeof anyExtraCalls>) =>
      call === undefined || (call.path.includes("{saId}") && !call.path.includes("{keyId}")),
  },
].reduce(withRule, anyExtraCalls);

const parameterName = matching(
  z.string().max(64),
  /^[-._~A-Za-z0-9]+$/,
  "must be the name of a query parameter: letters, digits, '-', '_', '.' and '~'",
);

const accountListPages = withRule(
  z.object({
    pageParameter: parameterName.meta({
      description: "The query parameter with the number of the page, such as page.",
    }),
    pageSizeParameter: parameterName.optional().meta({
      description: "The query parameter with the records per page, such as pageSize.",
    }),
    pageSize: z
      .int()
      .min(1)
      .max(1_000)
      .default(100)
      .meta({ description: "Records per page, sent if pageSizeParameter is set: 1 to 1000." }),
    firstPage: z
      .int()
      .min(0)
      .max(1)
      .default(1)
      .meta({ description: "The number of the first page: 0 or 1." }),
  }),
  {
    rule: "!has(self.pageSizeParameter) || self.pageSizeParameter != self.pageParameter",
    message: "must have two different parameters",
    holds: ({ pageParameter, pageSizeParameter }) => pageSizeParameter !== pageParameter,
  },
);

const limits = z
  .object({
    requestsPerSecond: z
      .int()
      .min(1)
      .max(1_000)
      .default(20)
      .meta({ description: "Calls per second in the long run: 1 to 1000." }),
    burst: z
      .int()
      .min(1)
      .max(10_000)
      .default(40)
      .meta({ description: "Burst of calls after a pause: 1 to 10000." }),
    concurrency: z
      .int()
      .min(1)
      .max(256)
      .default(8)
      .meta({ description: "Maximum concurrent calls: 1 to 256." }),
    timeout: durationBetween("100ms", "30s").default("15s").meta({
      description:
        "Deadline of a call: 100ms to 30s. A call that changes something has 5s at most, so that it cannot outlive the lease of the operator.",
    }),
  })
  .prefault({})
  .meta({ description: "Limits of the calls over this connection." });

const BASE_URL =
  /^https?:[/][/]([-.A-Za-z0-9]+|[[][0-9A-Fa-f:.]+[\]])(:[0-9]{1,5})?([/][-._~!$&()*+,;=:@%A-Za-z0-9]*)*$/;

const PROXY_URL = /^https?:[/][/]([-.A-Za-z0-9]+|[[][0-9A-Fa-f:.]+[\]])(:[0-9]{1,5})?[/]?$/;

const secretName = objectName.meta({ description: "The Secret's name." });
const where =
  "In the operator's namespace for a ClusterConnection, in the Connection's own for a Connection.";

const credentials = withRule(
  z.object({
    login: z
      .object({
        secretRef: z
          .object({
            name: secretName,
            usernameKey: secretKey
              .default("username")
              .meta({ description: "The Secret's entry with the user name." }),
            passwordKey: secretKey
              .default("password")
              .meta({ description: "The Secret's entry with the password." }),
            domainKey: secretKey
              .default("domain")
              .meta({ description: "The Secret's entry with the user's domain." }),
          })
          .meta({ description: where }),
      })
      .optional()
      .meta({ description: "Log in with user name, password and domain from a Secret." }),
    token: z
      .object({
        secretRef: z
          .object({
            name: secretName,
            key: secretKey.default("token").meta({ description: "The Secret's entry." }),
          })
          .meta({ description: where }),
      })
      .optional()
      .meta({ description: "Use a ready-made user token from a Secret." }),
  }),
  {
    rule: "has(self.login) != has(self.token)",
    message: "must have exactly one of login and token",
    holds: ({ login, token }) => (login === undefined) !== (token === undefined),
  },
).meta({ description: "How to log in: exactly one of login and token." });

const caBundleFrom = withRule(
  z.object({
    configMapRef: z
      .object({
        name: objectName.meta({ description: "The ConfigMap's name." }),
        key: configMapKey.default("ca.crt").meta({ description: "The ConfigMap's entry." }),
      })
      .optional()
      .meta({ description: where }),
    secretRef: z
      .object({
        name: secretName,
        key: secretKey.default("ca.crt").meta({ description: "The Secret's entry." }),
      })
      .optional()
      .meta({ description: where }),
  }),
  {
    rule: "has(self.configMapRef) != has(self.secretRef)",
    message: "must have exactly one of configMapRef and secretRef",
    holds: ({ configMapRef, secretRef }) =>
      (configMapRef === undefined) !== (secretRef === undefined),
  },
);

/** Whether a text contains PEM certificates. */
export function holdsCertificates(text: string): boolean {
  return text.includes("-----BEGIN CERTIFICATE-----");
}

const allowedMetadata = matching(
  z.string().max(317),
  /^[*]$|^[a-z0-9]([-a-z0-9.]*[a-z0-9])?([/][-._A-Za-z0-9]+)?$/,
  'must be a key such as argocd.argoproj.io/secret-type, a domain such as argocd.argoproj.io, or "*"',
);

const connectionFields = {
  baseURL: matching(
    z.string().max(512),
    BASE_URL,
    "must be an address such as https://console.example.com, without user name, query and fragment",
  )
    // CEL does not check the range of ports and IP addresses, so only the operator's own parser does.
    .refine((url) => !BASE_URL.test(url) || URL.canParse(url), { error: "must be a valid URL" })
    .meta({ description: "The console's base address, such as https://console.example.com." }),
  insecureHTTP: z
    .boolean()
    .default(false)
    .meta({ description: "Allows a plain http:// baseURL. Credentials then travel unencrypted." }),
  caBundle: withRule(z.string().max(65_536), {
    rule: "self.contains('-----BEGIN CERTIFICATE-----')",
    message:
      "must be PEM: one or more blocks that begin with -----BEGIN CERTIFICATE-----, not base64 of them",
    holds: holdsCertificates,
  })
    .optional()
    .meta({ description: "PEM certificates to trust in addition to the system's." }),
  caBundleFrom: caBundleFrom.optional().meta({
    description:
      "Replaces caBundle: a ConfigMap or a Secret (exactly one) with PEM certificates. The operator detects a change within 70 seconds.",
  }),
  trustOnlyCABundle: z.boolean().default(false).meta({
    description: "Whether to trust only caBundle or caBundleFrom, and no system CA.",
  }),
  clientCertificate: z
    .object({ secretRef: z.object({ name: secretName }).meta({ description: where }) })
    .optional()
    .meta({
      description:
        "A Secret of the type kubernetes.io/tls, whose certificate (tls.crt, tls.key) the operator presents to the console. The operator detects a renewed certificate within 70 seconds.",
    }),
  proxyURL: matching(
    z.string().max(512),
    PROXY_URL,
    "must be the address of a proxy such as http://proxy.example.com:3128, without user name and path",
  )
    .refine((url) => !PROXY_URL.test(url) || URL.canParse(url), { error: "must be a valid URL" })
    .optional()
    .meta({
      description:
        "The HTTP proxy to the console, such as http://proxy.example.com:3128. Defaults to the proxy of the operator's environment.",
    }),
  orgId: consoleId.meta({ description: "The organization that service accounts are created in." }),
  projectId: consoleId
    .optional()
    .meta({ description: "The project of ServiceAccounts that name none." }),
  domainId: consoleId
    .optional()
    .meta({ description: "Sent in the header X-Domain-Id; defaults to orgId." }),
  domainName: consoleName.meta({
    description: "The organization's name, sent in the header X-Domain-Name.",
  }),
  partitionId: consoleId
    .optional()
    .meta({ description: "Sent in the header X-Partition-Id; no header by default." }),
  credentials,
  limits,
  accountNamePrefix: matching(
    z.string().min(1).max(32),
    /^[a-z0-9][-.a-z0-9]*$/,
    "must begin with a lower-case letter or a digit, followed by lower-case letters, digits, '-' and '.', such as staging-",
  )
    .optional()
    .meta({
      description:
        "Begins the console names of accounts that are created from now on for ServiceAccounts without spec.name, such as staging-: at most 32 characters, none by default. Existing accounts keep their names.",
    }),
  accountPollInterval: durationBetween("1m", "24h").default("5m").meta({
    description:
      "How often each service account and its keys are read from the console: 1m to 24h, 5m by default. Less often if that takes more than a fifth of limits.requestsPerSecond: 10000 accounts at 20 calls per second are read every 46 minutes.",
  }),
  extraCalls: extraCalls.optional().meta({
    description:
      "Undocumented calls of this console that the administrator names. By default the operator makes only documented calls.",
  }),
  accountListPages: accountListPages.optional().meta({
    description:
      "How this console lists its service accounts in pages, which its documentation does not show: all pages are read then. By default the operator expects all accounts in one answer.",
  }),
  allowedSecretMetadata: setOf(allowedMetadata, 32).default([]).meta({
    description:
      'Labels and annotations of other controllers that ApiKeys may set on their Secrets although these controllers act on them: a key such as argocd.argoproj.io/secret-type, a domain such as argocd.argoproj.io, or ["*"]; at most 32, none by default.',
  }),
  suspend: suspend.meta({
    description: "Pauses all calls over this connection; objects that use it wait.",
  }),
};

const namespaceName = matching(
  z.string().max(63),
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  "must be the name of a namespace: lower-case letters, digits and '-'; patterns are not supported, use a selector",
);

const grant = z
  .object({
    name: matching(
      z.string().max(63),
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
      "must be a name of lower-case letters, digits and '-', such as team-a",
    ).meta({ description: "Name of the grant, unique in the list, such as team-a." }),
    namespaces: withRule(
      z.object({
        names: setOf(namespaceName, 256)
          .optional()
          .meta({ description: "Names of namespaces, at most 256." }),
        selector: nonEmptyLabelSelector
          .optional()
          .meta({ description: "Namespaces by label; never empty." }),
        all: z
          .boolean()
          .optional()
          .meta({ description: "Whether every namespace matches, those to come included." }),
      }),
      {
        rule: "has(self.names) || has(self.selector) || (has(self.all) && self.all)",
        message: "must have names, a selector, or all: true for every namespace",
        holds: ({ names, selector, all }) =>
          names !== undefined || selector !== undefined || all === true,
      },
    ).meta({ description: "Namespaces by name, by label, or all; one match is enough." }),
    policyIds: setOf(grantedId("policy", "pol-read"), 100)
      .default([])
      .meta({ description: 'Policies its PolicyBindings may bind, at most 100; ["*"] for any.' }),
    retainPolicies: z.boolean().default(false).meta({
      description:
        "Whether deletionPolicy: Retain and the deletion of a suspended PolicyBinding leave policies bound. If false, they are unbound as with Revoke. Retained policies are still unbound when this grant no longer lists them, as long as their ServiceAccount exists.",
    }),
    importServiceAccounts: z
      .boolean()
      .default(false)
      .meta({ description: "Whether its ServiceAccounts can import existing accounts by saId." }),
    maxExpiresInDays: z
      .int()
      .min(1)
      .max(3_650)
      .default(90)
      .meta({ description: "Maximum lifetime of its keys, in days." }),
    projectIds: setOf(grantedId("project", "prj-1"), 100).default([]).meta({
      description:
        'Projects that its ServiceAccounts can name in addition to the connection\'s project, at most 100; ["*"] for any.',
    }),
    maxServiceAccounts: z.int().min(0).max(100_000).optional().meta({
      description:
        "Maximum accounts of this connection per namespace; unlimited by default. Accounts of deleted objects count while they exist in the console, if its list shows descriptions.",
    }),
    maxIssuesPerDay: z.int().min(0).max(100_000).optional().meta({
      description:
        "Maximum keys per namespace in 24 hours, requested rotations included; unlimited by default.",
    }),
    quotaExports: setOf(z.int().min(1), 100).default([]).meta({
      description:
        "Container clusters whose quotas its ResourceQuotaExports can list with the connection's login, at most 100; none by default. With an apiKeyRef the key's policies decide.",
    }),
  })
  .meta({ description: "Permissions of the matching namespaces on this connection." });
export type Grant = z.output<typeof grant>;
/** The permissions of a namespace, whichever grants they come from. */
export type Rights = Omit<Grant, "name" | "namespaces" | "quotaExports"> & {
  readonly quotaExports: readonly number[] | "Any";
  /** Whether the operator unbinds policies that are no longer granted. */
  readonly withdrawsPolicies: boolean;
};

const NEVER = "Never";

const gracePeriod = withRule(z.string().max(32), {
  rule: `self == '${NEVER}' || (${celDuration("self")} && duration(self) <= duration('168h'))`,
  message: "must be Never, or a duration of at most 168h such as 0s, 10m or 24h",
  holds: (value) =>
    value === NEVER || (DURATION.test(value) && (parseDuration(value) ?? Infinity) <= 168 * HOUR),
});

/** Milliseconds; `undefined` for Never. */
export function gracePeriodMs(value: string): number | undefined {
  return value === NEVER ? undefined : parseDuration(value);
}

function withRules<Schema extends typeof anyConnectionSpec>(schema: Schema): Schema {
  const encrypted = withRule(schema, {
    field: "baseURL",
    rule: "!self.baseURL.startsWith('http://') || self.insecureHTTP",
    message:
      "must begin with https://, or credentials travel unencrypted; set insecureHTTP: true to accept that",
    holds: ({ baseURL, insecureHTTP }) => !baseURL.startsWith("http://") || insecureHTTP,
  });
  const fromOnePlace = withRule(encrypted, {
    field: "caBundleFrom",
    rule: "!has(self.caBundle) || !has(self.caBundleFrom)",
    message: "replaces caBundle: set only one of the two",
    holds: ({ caBundle, caBundleFrom }) => caBundle === undefined || caBundleFrom === undefined,
  });
  return withRule(fromOnePlace, {
    field: "trustOnlyCABundle",
    rule: "!self.trustOnlyCABundle || has(self.caBundle) || has(self.caBundleFrom)",
    message: "requires caBundle or caBundleFrom: without them no CA is trusted",
    holds: ({ trustOnlyCABundle, caBundle, caBundleFrom }) =>
      !trustOnlyCABundle || caBundle !== undefined || caBundleFrom !== undefined,
  });
}

const anyConnectionSpec = z.object(connectionFields);
export const connectionSpec = withRules(anyConnectionSpec);
const clusterConnectionSpec = withRules(
  z.object({
    ...connectionFields,
    grants: mapOf(grant, ["name"], 64).default([]).meta({
      description:
        "Namespaces that can use this connection, at most 64 grants. A namespace without a matching grant cannot use it.",
    }),
    withdrawalGracePeriod: gracePeriod.default("10m").meta({
      description:
        "When no grant matches a namespace any more, the policies bound for it are unbound after this time: 0s to 168h, or Never. A policy that a matching grant no longer has is unbound at once, and with Never not at all.",
    }),
  }),
);

const connectionStatus = z.object({
  ...commonStatus,
  lastAuthenticationTime: timestamp.optional().meta({
    description: "When the console last accepted the credentials, to the hour.",
  }),
  clockSkewSeconds: z.int().optional().meta({
    description:
      "The console's clock minus the operator's, from the Date header of responses, in seconds.",
  }),
  users: z
    .int()
    .min(0)
    .optional()
    .meta({ description: "Objects in the cluster that use this connection." }),
});

const columns: readonly PrinterColumn[] = [
  {
    name: "URL",
    type: "string",
    jsonPath: ".spec.baseURL",
    description: "The console's base address.",
  },
  { name: "Org", type: "string", jsonPath: ".spec.orgId", description: "The organization." },
  {
    name: "Users",
    type: "integer",
    jsonPath: ".status.users",
    description: "Objects that use it.",
    priority: 1,
  },
];

export const connectionKind = defineKind({
  kind: "Connection",
  plural: "connections",
  singular: "connection",
  shortName: "iamconn",
  scope: "Namespaced",
  hasFinalizer: true,
  writtenBy: "admin",
  description: "Credentials for an IAM console, for the objects of one namespace.",
  spec: connectionSpec,
  status: connectionStatus,
  rules: [],
  columns,
  selectableFields: [],
});

export const clusterConnectionKind = defineKind({
  kind: "ClusterConnection",
  plural: "clusterconnections",
  singular: "clusterconnection",
  shortName: "iamcconn",
  scope: "Cluster",
  hasFinalizer: true,
  description:
    "Credentials for an IAM console that an administrator grants to namespaces. Its credentials Secret is in the operator's namespace.",
  spec: clusterConnectionSpec,
  status: connectionStatus,
  rules: [],
  columns,
  selectableFields: [],
});

export type ConnectionSpec = z.output<typeof connectionSpec>;
export type ClusterConnectionSpec = z.output<typeof clusterConnectionSpec>;
export type ConnectionStatus = z.output<typeof connectionStatus>;
export type Connection = IamObject<ConnectionSpec, ConnectionStatus>;
export type ClusterConnection = IamObject<ClusterConnectionSpec, ConnectionStatus>;
