/** Manifests that the operator's own parse and the API server must judge the same. */
import { apiKeyKind } from "../../../src/api/api-key.ts";
import { clusterConnectionKind, connectionKind } from "../../../src/api/connection.ts";
import type { Kind } from "../../../src/api/kind.ts";
import { API_VERSION } from "../../../src/api/meta.ts";
import { policyBindingKind } from "../../../src/api/policy-binding.ts";
import { resourceQuotaExportKind } from "../../../src/api/resource-quota-export.ts";
import { serviceAccountKind } from "../../../src/api/service-account.ts";

export interface GoodFixture {
  readonly title: string;
  readonly kind: Kind;
  readonly name?: string;
  readonly spec: unknown;
}

export interface BadFixture extends GoodFixture {
  /** What a person who applies it must read: where, and what to do. */
  readonly says: readonly string[];
  /** What the parse says where its words are not the server's. */
  readonly parseSays?: readonly string[];
}

const login = { login: { secretRef: { name: "console-login" } } };
const CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const connection = {
  baseURL: "https://console.example.com",
  orgId: "org-1",
  domainName: "acme",
  credentials: login,
};
const serviceAccountRef = { name: "ci-bot" };
const key = { serviceAccountRef };
const call = { method: "DELETE", path: "/api/v1/accounts/{saId}/keys/{keyId}" };

const keyWith = (data: unknown) => ({ ...key, secret: { data } });
const rotatedWith = (rotation: unknown) => ({ ...key, rotation });

export const good: readonly GoodFixture[] = [
  { title: "a connection with a login", kind: clusterConnectionKind, spec: connection },
  {
    title: "a connection with certificates from a ConfigMap and a Secret",
    kind: connectionKind,
    spec: {
      ...connection,
      caBundleFrom: { configMapRef: { name: "console-ca" } },
      trustOnlyCABundle: true,
      clientCertificate: { secretRef: { name: "operator-tls" } },
    },
  },
  {
    title: "a connection with authorities from a Secret",
    kind: connectionKind,
    spec: { ...connection, caBundleFrom: { secretRef: { name: "console-ca", key: "root.pem" } } },
  },
  {
    title: "a connection with everything",
    kind: clusterConnectionKind,
    spec: {
      ...connection,
      baseURL: "https://console.example.com:8443/iam/",
      caBundle: CERTIFICATE,
      trustOnlyCABundle: true,
      proxyURL: "http://proxy.example.com:3128",
      accountNamePrefix: "blue.1-",
      projectId: "prj-1",
      domainId: "org-1",
      domainName: "Acme Corp.",
      partitionId: "p1",
      credentials: { token: { secretRef: { name: "console-token" } } },
      limits: { requestsPerSecond: 1, burst: 1, concurrency: 1, timeout: "30s" },
      extraCalls: {
        disableKey: call,
        deleteKey: call,
        deleteServiceAccount: { method: "DELETE", path: "/api/v1/accounts/{saId}" },
      },
      grants: [
        { name: "a", namespaces: { names: ["team-a"] }, policyIds: ["*"] },
        {
          name: "b",
          namespaces: { selector: { matchLabels: { team: "b" } } },
          policyIds: ["pol-read"],
        },
        {
          name: "c",
          namespaces: {
            selector: {
              matchExpressions: [
                { key: "example.com/team", operator: "In", values: ["a", "b"] },
                { key: "legacy", operator: "DoesNotExist" },
              ],
            },
          },
        },
        { name: "d", namespaces: { all: true }, maxExpiresInDays: 30, quotaExports: [7, 8] },
      ],
    },
  },
  {
    title: "plain http where it is asked for",
    kind: connectionKind,
    spec: { ...connection, baseURL: "http://localhost:8080", insecureHTTP: true },
  },
  {
    title: "an address that is an IPv6 literal",
    kind: connectionKind,
    spec: { ...connection, baseURL: "https://[2001:db8::1]:8443" },
  },
  { title: "a service account with nothing but defaults", kind: serviceAccountKind, spec: {} },
  {
    title: "an imported service account",
    kind: serviceAccountKind,
    spec: {
      connectionRef: { kind: "Connection", name: "own" },
      name: "CI Bot für Team A",
      saId: "sa-0123",
      foreignPolicies: "Remove",
      deletionPolicy: "Retain",
      description: "🤖".repeat(512),
    },
  },
  {
    title: "a binding of one policy",
    kind: policyBindingKind,
    spec: { serviceAccountRef, policyIds: ["pol-read"] },
  },
  {
    title: "a binding of as many policies as there may be",
    kind: policyBindingKind,
    spec: { serviceAccountRef, policyIds: Array.from({ length: 100 }, (_, i) => `pol-${i}`) },
  },
  { title: "a key with nothing but defaults", kind: apiKeyKind, spec: key },
  {
    title: "a key that is renewed one minute after it was issued",
    kind: apiKeyKind,
    spec: { ...key, expiresInDays: 1, rotation: { renewBefore: "23h59m" } },
  },
  {
    title: "a key with windows and a secret of its own shape",
    kind: apiKeyKind,
    spec: {
      ...key,
      rotation: {
        renewBeforePercentage: 50,
        overlap: "0s",
        windows: [
          {
            schedule: "*/15 2-4 1,15 * MON-FRI",
            timeZone: "America/Argentina/Ushuaia",
            duration: "90m",
          },
        ],
      },
      secret: {
        name: "ci-bot.config",
        data: {
          "config.json": '{"id": ${keyId:json}, "secret": ${secret:json}}\n',
          ".env": "HOME=$${HOME}\nPRICE=$5\nSHELL=$(pwd)\nEND=$",
          escaped: "$$${secret}",
        },
        labels: { "example.com/team": "a", empty: "" },
        annotations: { note: "Anything at all: ${}" },
        onExisting: "Adopt",
        deletionPolicy: "Retain",
      },
    },
  },
  {
    title: "a key whose workloads are named",
    kind: apiKeyKind,
    spec: {
      ...key,
      rotation: { maxOverlapExtension: "72h" },
      rollout: {
        workloadRefs: [
          { name: "api" },
          { kind: "StatefulSet", name: "db.main" },
          { kind: "Rollout", name: "api" },
        ],
        minInterval: "0s",
      },
    },
  },
  {
    title: "a key for every workload that reads it",
    kind: apiKeyKind,
    spec: { ...key, rollout: { selector: {}, minInterval: "24h" } },
  },
  {
    title: "a Secret with as much template as there may be",
    kind: apiKeyKind,
    spec: keyWith({
      secret: `\${secret}${"x".repeat(16_375)}`,
      ...Object.fromEntries(["a", "b", "c"].map((name) => [name, "é".repeat(16_384)])),
    }),
  },
  ...[
    ["kubernetes.io/basic-auth", { username: "${keyId}", password: "${secret}" }],
    [
      "kubernetes.io/dockerconfigjson",
      { ".dockerconfigjson": '{"auths": ${secret:json}, "$${secret}": 1}' },
    ],
    ["example.com/type", { secret: "${secret}" }],
    ["connection.cluster.x-k8s.io/v1.Key_Pair", { secret: "${secret}" }],
  ].map(([type, data]) => ({
    title: `a Secret of type ${type}`,
    kind: apiKeyKind,
    spec: { ...key, secret: { type, data } },
  })),
  {
    title: "an export with filters",
    kind: resourceQuotaExportKind,
    spec: {
      clusterId: 7,
      namespaces: ["a"],
      filterNames: ["x"],
      interval: "15s",
      apiKeyRef: { name: "ci-bot-key" },
    },
  },
];

/** What a spec says at a path, what the server says about it, and what the parse says if its words differ. */
type Row = readonly [path: string, value: unknown, says: string, parseSays?: string];

/** `spec` with a value at a path such as `grants[0].name`. */
function put(spec: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const copy: Record<string, unknown> = Object.assign(/^\d/.test(step) ? [] : {}, spec);
  copy[step] = put(copy[step], rest, value);
  return copy;
}

function about(path: string, words: string): readonly string[] {
  return words.startsWith("spec") ? [words] : [`spec.${path}`, ...words.split(" … ")];
}

function refused(kind: Kind, spec: unknown, rows: readonly Row[]): readonly BadFixture[] {
  return rows.map(([path, value, says, parseSays = says]) => ({
    title: `${path}: ${JSON.stringify(value)?.slice(0, 60)}`,
    kind,
    spec: put(spec, path.match(/\w+/g) ?? [], value),
    says: about(path, says),
    parseSays: about(path, parseSays),
  }));
}

const secretRef = { name: "console-ca" };
const granted = { ...connection, grants: [{ name: "a", namespaces: { names: ["a"] } }] };
/** A condition on the label `team`. */
const EXPRESSION = "grants[0].namespaces.selector.matchExpressions[0]";
const selected = put(granted, ["grants", "0", "namespaces"], {
  selector: { matchExpressions: [{ key: "team", operator: "DoesNotExist" }] },
});
const inWindow = rotatedWith({ windows: [{ schedule: "0 3 * * *", duration: "2h" }] });

const tooMuch = {
  secret: "${secret}",
  ...Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, "x".repeat(16_384)])),
};

const ID = "must be an identifier of the console, such as org-1";
const REQUIRED = ["Required value", "is required"] as const;
const NAME = "lower-case letters, digits, '-' and '.'";
const CREDENTIALS = "must have exactly one of login and token";
const CA_SOURCE = "exactly one of configMapRef and secretRef";
const ROLLOUT = "must have exactly one of workloadRefs and selector";
const RENEW_BEFORE = "must be a duration from 1h to 87600h, written in hours, minutes";
const ZONE = "must be an IANA time zone such as Europe/Berlin, or UTC";
const EARLY = "renewBefore must be shorter than the key's lifetime";
const SECRET = "must have one entry with ${secret} or ${secret:json}";
const VARIABLE = "must use no variables but keyId, secret … for a literal ${ write $${";
const TYPE =
  "must be kubernetes.io/basic-auth, kubernetes.io/dockerconfigjson, Opaque, or a custom type";
const BASIC_AUTH = '{username: "${keyId}", password: "${secret}"}';

export const bad: readonly BadFixture[] = [
  {
    title: "no spec at all",
    kind: apiKeyKind,
    spec: undefined,
    says: ["spec: Required value"],
    parseSays: ["spec: is required"],
  },
  {
    title: "a name too long for a label",
    kind: apiKeyKind,
    name: "k".repeat(64),
    spec: key,
    says: ["metadata.name: Too long"],
    parseSays: ["metadata.name: must have at most 63 characters"],
  },
  ...refused(connectionKind, connection, [
    ["baseURL", "http://console", "must begin with https:// … set insecureHTTP: true"],
    ["baseURL", "console", "must be an address such as https://console.example.com"],
    ["baseURL", "https://admin:secret@console", "without user name, query and fragment"],
    ["baseURL", "https://console/?a=b", "without user name, query and fragment"],
    ["baseURL", undefined, ...REQUIRED],
    ["credentials", {}, CREDENTIALS],
    ["credentials", { ...login, token: { secretRef } }, CREDENTIALS],
    ["orgId", "org 1", ID],
    ["projectId", "..", ID],
    ["domainName", "Äcme", "must be printable ASCII"],
    ["proxyURL", "http://user:word@proxy:3128", "without user name"],
    ["proxyURL", "socks5://proxy.example.com", "must be the address of a proxy"],
    ["accountNamePrefix", "Blue-", "must begin with a lower-case letter or a digit"],
    ["accountNamePrefix", "-blue", "must begin with a lower-case letter or a digit"],
    ["caBundle", "LS0tLS1CRUdJTi", "must be PEM … not base64"],
    ["trustOnlyCABundle", true, "requires caBundle or caBundleFrom"],
    ["caBundleFrom", { configMapRef: secretRef, secretRef }, CA_SOURCE],
    ["caBundleFrom", {}, CA_SOURCE],
    [
      "caBundleFrom.configMapRef",
      { ...secretRef, key: "ca/crt" },
      "name of an entry of a ConfigMap",
    ],
    ["limits.timeout", "1h", "must be a duration from 100ms to 30s"],
    ["extraCalls.deleteKey", { ...call, path: "//evil/{keyId}" }, "must be a path under baseURL"],
    ["extraCalls.deleteKey", { ...call, path: "/{org}" }, "no variables but {saId} and {keyId}"],
    ["extraCalls.disableKey", { ...call, path: "/{saId}" }, "must contain {saId} and {keyId}"],
    ["extraCalls.deleteKey", { ...call, path: "/{keyId}" }, "must contain {saId} and {keyId}"],
    ["extraCalls.deleteServiceAccount", call, "must contain {saId} and not {keyId}"],
    ["accountListPages.pageParameter", "a&b", "must be the name of a query parameter"],
    [
      "accountListPages",
      { pageParameter: "page", pageSizeParameter: "page" },
      "must have two different parameters",
    ],
  ]),
  ...refused(connectionKind, { ...connection, caBundle: CERTIFICATE }, [
    ["caBundleFrom", { configMapRef: secretRef }, "set only one of the two"],
  ]),
  ...refused(clusterConnectionKind, granted, [
    ["grants[0].name", undefined, ...REQUIRED],
    ["grants[0].namespaces", {}, "must have names, a selector, or all: true"],
    ["grants[0].namespaces", { all: false }, "must have names, a selector, or all: true"],
    ["grants[0].namespaces", { selector: {} }, "must have matchLabels or matchExpressions"],
    [
      "grants[0].namespaces",
      { selector: { matchLabels: {}, matchExpressions: [] } },
      "write all: true instead",
    ],
    ["grants[0].namespaces.names[0]", "team-*", "patterns are not supported, use a selector"],
    [
      "grants[0].namespaces.names[1]",
      "a",
      'Duplicate value: "a"',
      "spec.grants[0].namespaces.names: must name nothing twice",
    ],
    ["grants[0].quotaExports[0]", 0, "Invalid value: 0 … greater than or equal to 1", ">=1"],
    ...["never", "10", "200h"].map(
      (each): Row => [
        "withdrawalGracePeriod",
        each,
        "must be Never, or a duration of at most 168h",
      ],
    ),
    ["grants[0].policyIds[0]", "pol-*", 'or "*" for any policy'],
    [
      "grants[1]",
      granted.grants[0],
      'Duplicate value: … "name":"a"',
      "spec.grants: must not have two items with the same name",
    ],
  ]),
  ...refused(clusterConnectionKind, selected, [
    [
      `${EXPRESSION}.operator`,
      "Gt",
      'Unsupported value: "Gt"',
      '"In"|"NotIn"|"Exists"|"DoesNotExist"',
    ],
    [EXPRESSION, { key: "team", operator: "NotIn", values: [] }, "must be there with In and NotIn"],
    [`${EXPRESSION}.values`, ["a"], "must be there with In and NotIn, and only with them"],
    [`${EXPRESSION}.key`, "a team", "must be a label's key"],
    [EXPRESSION, { key: "team", operator: "NotIn", values: ["team a"] }, "must be a label's value"],
  ]),
  ...refused(serviceAccountKind, {}, [
    ["name", "ci bot\n", "must be one line without white space around it"],
    ["name", " ci bot", "must be one line without white space around it"],
    ["name", "ci\nbot", "must be one line without white space around it"],
    ["connectionRef.name", "Default", `${NAME}, such as ci-bot`],
    [
      "connectionRef.kind",
      "Secret",
      'Unsupported value: "Secret"',
      '"ClusterConnection"|"Connection"',
    ],
    ["saId", "tpn:r1:org-1:prj-1:sa/sa-1", "must be an identifier of the console"],
    [
      "description",
      "x".repeat(513),
      "Too long: may not be more than 512",
      "must not be longer than 512 characters",
    ],
    ["deletionPolicy", "Orphan", 'Unsupported value: "Orphan"', '"Revoke"|"Retain"|"Delete"'],
  ]),
  ...refused(policyBindingKind, { serviceAccountRef, policyIds: ["pol-read"] }, [
    ["policyIds", [], "must name at least one policy … delete this PolicyBinding"],
    [
      "policyIds[1]",
      "pol-read",
      'Duplicate value: "pol-read"',
      "spec.policyIds: must name nothing twice",
    ],
    ["policyIds[0]", "*", "must be an identifier of the console"],
    ["serviceAccountRef", undefined, ...REQUIRED],
  ]),
  ...refused(apiKeyKind, key, [
    ["serviceAccountRef.name", "CI-Bot", NAME],
    ["expiresInDays", 3_651, "Invalid value: 3651 … less than or equal to 3650", "<=3650"],
    ["expiresInDays", 0, "Invalid value: 0 … greater than or equal to 1", ">=1"],
    ["expiresInDays", 1.5, "must be of type integer", "expected int"],
    ["rotation.renewBefore", "30d", RENEW_BEFORE],
    ["rotation.renewBefore", "0s", RENEW_BEFORE],
    ["rotation.renewBefore", "59m59s", RENEW_BEFORE],
    ["rotation.overlap", "", "must be a duration"],
    ["rotation.overlap", "9999999h", "must be a duration"],
    [
      "rotation",
      { renewBefore: "24h", renewBeforePercentage: 10 },
      "at most one of renewBefore and renewBeforePercentage",
    ],
    ["rotation", { renewBefore: "2160h0m1s" }, EARLY],
    ["rollout", {}, ROLLOUT],
    ["rollout", { workloadRefs: [{ name: "api" }], selector: {} }, ROLLOUT],
    [
      "rollout.workloadRefs[0]",
      { kind: "Pod", name: "api" },
      'Unsupported value: "Pod"',
      '"Deployment"|"StatefulSet"|"DaemonSet"',
    ],
    ["rollout", { selector: {}, minInterval: "24h1s" }, "must be a duration from 0s to 24h"],
    ["secret.name", "MyKey", NAME],
    ["secret.data", { id: "${keyId}" }, SECRET],
    ["secret.data", {}, SECRET],
    ["secret.data", { key: "$$${secret} and $${secret}" }, SECRET],
    ["secret.data", tooMuch, "must have at most 65536 characters in all"],
    ...["${foo}", "${secret", "${ secret }", "${secret:base64}", "a${}b", "${Secret}"].map(
      (other): Row => ["secret.data", { key: "${secret}", other }, VARIABLE],
    ),
    ...[
      "kubernetes.io/service-account-token",
      "kubernetes.io/tls",
      "kubernetes.io/ssh-auth",
      "bootstrap.kubernetes.io/token",
      "toolbox.k8s.io/type",
      "helm.sh/release.v1",
      "opaque",
      "example/type",
      "example.com/",
      "example.com/a/b",
      "",
    ].map((type): Row => ["secret.type", type, TYPE]),
    ["secret.labels", { "iam-operator.io/role": "target" }, "must not begin with iam-operator.io/"],
    ["secret.labels", { team: "a b" }, "must be a label's value"],
    ["maxIssuesPerDay", 101, "Invalid value: 101 … less than or equal to 100", "<=100"],
  ]),
  ...refused(apiKeyKind, { ...key, expiresInDays: 1 }, [
    ["rotation", { renewBefore: "24h" }, EARLY],
    ["maxIssuesPerDay", 1, "must be at least 2 if expiresInDays is 1"],
  ]),
  ...refused(apiKeyKind, { ...key, rollout: { workloadRefs: [{ name: "api" }] } }, [
    [
      "rollout.workloadRefs[1]",
      { kind: "Deployment", name: "api" },
      "Duplicate value: ",
      "spec.rollout.workloadRefs: must not have two items with the same kind and name",
    ],
  ]),
  ...refused(apiKeyKind, inWindow, [
    ["rotation.windows[0].timeZone", "", ZONE],
    ["rotation.windows[0].timeZone", "PST", ZONE],
    ["rotation.windows[0].timeZone", "Europe/Atlantis", ZONE],
    ["rotation.windows[0].timeZone", "America/los_angles", ZONE],
    ["rotation.windows[0].schedule", "0 0 3 * * *", "must be a cron expression of five fields"],
    ["rotation.windows[0].duration", "0s", "must be a duration from 1m to 8760h"],
  ]),
  ...refused(apiKeyKind, { ...key, secret: { type: "kubernetes.io/basic-auth" } }, [
    ["secret.data", undefined, BASIC_AUTH],
    ["secret.data", { username: "u", secret: "${secret}" }, BASIC_AUTH],
    ["secret.data", { password: "${secret}" }, BASIC_AUTH],
  ]),
  ...refused(apiKeyKind, { ...key, secret: { type: "kubernetes.io/dockerconfigjson" } }, [
    ["secret.data", undefined, '"password": ${secret:json}'],
    ["secret.data", { ".dockerconfigjson": '{"a": "${secret}"}' }, '"password": ${secret:json}'],
  ]),
  ...refused(resourceQuotaExportKind, { clusterId: 7 }, [
    ["interval", "14s", "must be a duration from 15s to 24h"],
    ["clusterId", "7", "must be of type integer", "expected"],
    ["clusterId", 0, "greater than or equal to 1", ">=1"],
  ]),
];

/** What the API server cannot judge, so that it becomes `Stalled, reason InvalidSpec`. */
export const stalled: readonly BadFixture[] = [
  ...refused(apiKeyKind, key, [
    ["secret.data", { "a/b": "${secret}" }, "must have entry names of letters, digits"],
    ["secret.labels", { "a b": "c" }, "must have keys such as team"],
  ]),
  ...refused(apiKeyKind, inWindow, [
    [
      "rotation.windows[0].schedule",
      "99 99 * * *",
      "must be a cron expression whose fields are in range",
    ],
    ["rotation.windows[0].schedule", "0 0 30 2 *", "must name a day that exists"],
  ]),
  ...refused(connectionKind, connection, [
    ["baseURL", "https://console:99999", "must be a valid URL"],
  ]),
];

/** The fixture as a manifest. */
export function manifest({ kind, name = "fixture", spec }: GoodFixture, namespace: string) {
  return {
    apiVersion: API_VERSION,
    kind: kind.kind,
    metadata: kind.scope === "Cluster" ? { name } : { name, namespace },
    ...(spec === undefined ? {} : { spec }),
  };
}
