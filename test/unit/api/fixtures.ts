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
const inWindow = (window: object) =>
  rotatedWith({ windows: [{ schedule: "0 3 * * *", duration: "2h", ...window }] });

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
      caBundle: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
      trustOnlyCABundle: true,
      proxyURL: "http://proxy.example.com:3128",
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

const EXPRESSION = "spec.grants[0].namespaces.selector.matchExpressions[0]";

/** A grant by one condition on labels. */
function grantBy(expression: object) {
  const namespaces = { selector: { matchExpressions: [expression] } };
  return { ...connection, grants: [{ name: "a", namespaces }] };
}

const required = { parse: "is required", server: "Required value" };

export const bad: readonly BadFixture[] = [
  // What every kind has.
  {
    title: "no spec at all",
    kind: apiKeyKind,
    spec: undefined,
    says: [`spec: ${required.server}`],
    parseSays: [`spec: ${required.parse}`],
  },
  {
    title: "a name too long for a label",
    kind: apiKeyKind,
    name: "k".repeat(64),
    spec: key,
    says: ["metadata.name: Too long"],
    parseSays: ["metadata.name: must have at most 63 characters"],
  },
  // Connection, ClusterConnection.
  {
    title: "plain http without consent",
    kind: clusterConnectionKind,
    spec: { ...connection, baseURL: "http://console.example.com" },
    says: ["spec.baseURL: ", "must begin with https://", "set insecureHTTP: true"],
  },
  {
    title: "an address without a scheme",
    kind: clusterConnectionKind,
    spec: { ...connection, baseURL: "console.example.com" },
    says: ["spec.baseURL: ", "must be an address such as https://console.example.com"],
  },
  {
    title: "an address with a user name",
    kind: connectionKind,
    spec: { ...connection, baseURL: "https://admin:secret@console.example.com" },
    says: ["spec.baseURL: ", "without user name, query and fragment"],
  },
  {
    title: "an address with a query",
    kind: connectionKind,
    spec: { ...connection, baseURL: "https://console.example.com/?a=b" },
    says: ["spec.baseURL: ", "without user name, query and fragment"],
  },
  {
    title: "no address",
    kind: connectionKind,
    spec: { ...connection, baseURL: undefined },
    says: [`spec.baseURL: ${required.server}`],
    parseSays: [`spec.baseURL: ${required.parse}`],
  },
  {
    title: "no credentials",
    kind: connectionKind,
    spec: { ...connection, credentials: {} },
    says: ["spec.credentials: ", "must have exactly one of login and token"],
  },
  {
    title: "two sorts of credentials",
    kind: connectionKind,
    spec: { ...connection, credentials: { ...login, token: { secretRef: { name: "t" } } } },
    says: ["spec.credentials: ", "must have exactly one of login and token"],
  },
  {
    title: "an organization with a space",
    kind: connectionKind,
    spec: { ...connection, orgId: "org 1" },
    says: ["spec.orgId: ", "must be an identifier of the console, such as org-1"],
  },
  {
    title: "an identifier that would climb out of its path",
    kind: connectionKind,
    spec: { ...connection, projectId: ".." },
    says: ["spec.projectId: ", "must be an identifier of the console, such as org-1"],
  },
  {
    title: "a domain name that no header can carry",
    kind: connectionKind,
    spec: { ...connection, domainName: "Äcme" },
    says: ["spec.domainName: ", "must be printable ASCII"],
  },
  {
    title: "a proxy with a password",
    kind: connectionKind,
    spec: { ...connection, proxyURL: "http://user:word@proxy.example.com:3128" },
    says: ["spec.proxyURL: ", "without user name"],
  },
  {
    title: "a proxy without http",
    kind: connectionKind,
    spec: { ...connection, proxyURL: "socks5://proxy.example.com" },
    says: ["spec.proxyURL: ", "must be the address of a proxy"],
  },
  {
    title: "a certificate in base64",
    kind: connectionKind,
    spec: { ...connection, caBundle: "LS0tLS1CRUdJTi" },
    says: ["spec.caBundle: ", "must be PEM", "not base64"],
  },
  {
    title: "trust in nobody",
    kind: connectionKind,
    spec: { ...connection, trustOnlyCABundle: true },
    says: ["spec.trustOnlyCABundle: ", "requires caBundle or caBundleFrom"],
  },
  {
    title: "authorities from two places",
    kind: connectionKind,
    spec: {
      ...connection,
      caBundle: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
      caBundleFrom: { configMapRef: { name: "console-ca" } },
    },
    says: ["spec.caBundleFrom: ", "set only one of the two"],
  },
  {
    title: "authorities from a ConfigMap and a Secret",
    kind: connectionKind,
    spec: {
      ...connection,
      caBundleFrom: { configMapRef: { name: "console-ca" }, secretRef: { name: "console-ca" } },
    },
    says: ["spec.caBundleFrom: ", "exactly one of configMapRef and secretRef"],
  },
  {
    title: "authorities from nowhere",
    kind: connectionKind,
    spec: { ...connection, caBundleFrom: {} },
    says: ["spec.caBundleFrom: ", "exactly one of configMapRef and secretRef"],
  },
  {
    title: "authorities in an entry that no ConfigMap can have",
    kind: connectionKind,
    spec: { ...connection, caBundleFrom: { configMapRef: { name: "console-ca", key: "ca/crt" } } },
    says: ["spec.caBundleFrom.configMapRef.key: ", "name of an entry of a ConfigMap"],
  },
  {
    title: "a deadline without end",
    kind: connectionKind,
    spec: { ...connection, limits: { timeout: "1h" } },
    says: ["spec.limits.timeout: ", "must be a duration from 100ms to 30s"],
  },
  {
    title: "an extra call at another host",
    kind: connectionKind,
    spec: { ...connection, extraCalls: { deleteKey: { ...call, path: "//evil.example/{keyId}" } } },
    says: ["spec.extraCalls.deleteKey.path: ", "must be a path under baseURL"],
  },
  {
    title: "an extra call with an unknown variable",
    kind: connectionKind,
    spec: { ...connection, extraCalls: { deleteKey: { ...call, path: "/keys/{keyId}/{org}" } } },
    says: ["spec.extraCalls.deleteKey.path: ", "no variables but {saId} and {keyId}"],
  },
  {
    title: "an extra call about no key",
    kind: connectionKind,
    spec: { ...connection, extraCalls: { disableKey: { ...call, path: "/keys/{saId}" } } },
    says: ["spec.extraCalls.disableKey: ", "must contain {saId} and {keyId}"],
  },
  {
    title: "an extra call about a key of any account",
    kind: connectionKind,
    spec: { ...connection, extraCalls: { deleteKey: { ...call, path: "/keys/{keyId}" } } },
    says: ["spec.extraCalls.deleteKey: ", "must contain {saId} and {keyId}"],
  },
  {
    title: "a deletion of an account that takes a key",
    kind: connectionKind,
    spec: { ...connection, extraCalls: { deleteServiceAccount: call } },
    says: ["spec.extraCalls.deleteServiceAccount: ", "must contain {saId} and not {keyId}"],
  },
  {
    title: "a grant to nobody",
    kind: clusterConnectionKind,
    spec: { ...connection, grants: [{ name: "a", namespaces: {} }] },
    says: ["spec.grants[0].namespaces: ", "must have names, a selector, or all: true"],
  },
  {
    title: "a grant to whatever an empty selector selects",
    kind: clusterConnectionKind,
    spec: { ...connection, grants: [{ name: "a", namespaces: { selector: {} } }] },
    says: ["spec.grants[0].namespaces.selector: ", "must have matchLabels or matchExpressions"],
  },
  {
    title: "a grant by an operator that labels do not have",
    kind: clusterConnectionKind,
    spec: grantBy({ key: "team", operator: "Gt", values: ["1"] }),
    says: [`${EXPRESSION}.operator: Unsupported value: "Gt"`],
    parseSays: [`${EXPRESSION}.operator: `, '"In"|"NotIn"|"Exists"|"DoesNotExist"'],
  },
  {
    title: "a grant by no value",
    kind: clusterConnectionKind,
    spec: grantBy({ key: "team", operator: "NotIn", values: [] }),
    says: [`${EXPRESSION}.values: `, "must be there with In and NotIn"],
  },
  {
    title: "a grant by the value of a label that has to be missing",
    kind: clusterConnectionKind,
    spec: grantBy({ key: "team", operator: "DoesNotExist", values: ["a"] }),
    says: [`${EXPRESSION}.values: `, "must be there with In and NotIn, and only with them"],
  },
  {
    title: "a grant by a label that no namespace can have",
    kind: clusterConnectionKind,
    spec: grantBy({ key: "a team", operator: "DoesNotExist" }),
    says: [`${EXPRESSION}.key: `, "must be a label's key"],
  },
  {
    title: "a grant by a value that no label can have",
    kind: clusterConnectionKind,
    spec: grantBy({ key: "team", operator: "NotIn", values: ["team a"] }),
    says: [`${EXPRESSION}.values[0]: `, "must be a label's value"],
  },
  {
    title: "a grant to a pattern of namespaces",
    kind: clusterConnectionKind,
    spec: { ...connection, grants: [{ name: "a", namespaces: { names: ["team-*"] } }] },
    says: ["spec.grants[0].namespaces.names[0]: ", "patterns are not supported, use a selector"],
  },
  {
    title: "a grant of quotas of no cluster",
    kind: clusterConnectionKind,
    spec: {
      ...connection,
      grants: [{ name: "a", namespaces: { names: ["a"] }, quotaExports: [0] }],
    },
    says: ["spec.grants[0].quotaExports[0]: Invalid value: 0", "greater than or equal to 1"],
    parseSays: ["spec.grants[0].quotaExports[0]: ", ">=1"],
  },
  {
    title: "a grant of a pattern of policies",
    kind: clusterConnectionKind,
    spec: {
      ...connection,
      grants: [{ name: "a", namespaces: { names: ["a"] }, policyIds: ["pol-*"] }],
    },
    says: ["spec.grants[0].policyIds[0]: ", 'or "*" for any policy'],
  },
  // ServiceAccount.
  {
    title: "a connection with an upper-case name",
    kind: serviceAccountKind,
    spec: { connectionRef: { name: "Default" } },
    says: ["spec.connectionRef.name: ", "lower-case letters, digits, '-' and '.', such as ci-bot"],
  },
  {
    title: "an unknown kind of connection",
    kind: serviceAccountKind,
    spec: { connectionRef: { kind: "Secret" } },
    says: ['spec.connectionRef.kind: Unsupported value: "Secret"', '"ClusterConnection"'],
    parseSays: ["spec.connectionRef.kind: ", '"ClusterConnection"|"Connection"'],
  },
  {
    title: "a tpn in place of an saId",
    kind: serviceAccountKind,
    spec: { saId: "tpn:r1:org-1:prj-1:sa/sa-1" },
    says: ["spec.saId: ", "must be an identifier of the console"],
  },
  {
    title: "a description that is too long",
    kind: serviceAccountKind,
    spec: { description: "x".repeat(513) },
    says: ["spec.description: Too long: may not be more than 512"],
    parseSays: ["spec.description: must not be longer than 512 characters"],
  },
  {
    title: "an unknown deletion policy",
    kind: serviceAccountKind,
    spec: { deletionPolicy: "Orphan" },
    says: ['spec.deletionPolicy: Unsupported value: "Orphan"'],
    parseSays: ["spec.deletionPolicy: ", '"Revoke"|"Retain"|"Delete"'],
  },
  // PolicyBinding.
  {
    title: "no policy",
    kind: policyBindingKind,
    spec: { serviceAccountRef, policyIds: [] },
    says: ["spec.policyIds: ", "must name at least one policy", "delete this PolicyBinding"],
  },
  {
    title: "two grants with one name",
    kind: clusterConnectionKind,
    spec: {
      ...connection,
      grants: ["a", "b"].map((team) => ({ name: "a", namespaces: { names: [team] } })),
    },
    says: ["spec.grants[1]: Duplicate value: ", '"name":"a"'],
    parseSays: ["spec.grants: must not have two items with the same name"],
  },
  {
    title: "a grant without a name",
    kind: clusterConnectionKind,
    spec: { ...connection, grants: [{ namespaces: { names: ["a"] } }] },
    says: ["spec.grants[0].name: Required value"],
    parseSays: ["spec.grants[0].name: is required"],
  },
  {
    title: "a namespace twice",
    kind: clusterConnectionKind,
    spec: { ...connection, grants: [{ name: "a", namespaces: { names: ["a", "a"] } }] },
    says: ['spec.grants[0].namespaces.names[1]: Duplicate value: "a"'],
    parseSays: ["spec.grants[0].namespaces.names: must name nothing twice"],
  },
  {
    title: "a workload twice, once by its default kind",
    kind: apiKeyKind,
    spec: {
      ...key,
      rollout: { workloadRefs: [{ name: "api" }, { kind: "Deployment", name: "api" }] },
    },
    says: ["spec.rollout.workloadRefs[1]: Duplicate value: "],
    parseSays: ["spec.rollout.workloadRefs: must not have two items with the same kind and name"],
  },
  {
    title: "a policy twice",
    kind: policyBindingKind,
    spec: { serviceAccountRef, policyIds: ["pol-read", "pol-read"] },
    says: ['spec.policyIds[1]: Duplicate value: "pol-read"'],
    parseSays: ["spec.policyIds: must name nothing twice"],
  },
  {
    title: "any policy",
    kind: policyBindingKind,
    spec: { serviceAccountRef, policyIds: ["*"] },
    says: ["spec.policyIds[0]: ", "must be an identifier of the console"],
  },
  {
    title: "a binding to nothing",
    kind: policyBindingKind,
    spec: { policyIds: ["pol-read"] },
    says: [`spec.serviceAccountRef: ${required.server}`],
    parseSays: [`spec.serviceAccountRef: ${required.parse}`],
  },
  // ApiKey.
  {
    title: "a service account with an upper-case name",
    kind: apiKeyKind,
    spec: { serviceAccountRef: { name: "CI-Bot" } },
    says: ["spec.serviceAccountRef.name: ", "lower-case letters, digits, '-' and '.'"],
  },
  {
    title: "a lifetime beyond ten years",
    kind: apiKeyKind,
    spec: { ...key, expiresInDays: 3_651 },
    says: ["spec.expiresInDays: Invalid value: 3651", "less than or equal to 3650"],
    parseSays: ["spec.expiresInDays: ", "<=3650"],
  },
  {
    title: "no lifetime",
    kind: apiKeyKind,
    spec: { ...key, expiresInDays: 0 },
    says: ["spec.expiresInDays: Invalid value: 0", "greater than or equal to 1"],
    parseSays: ["spec.expiresInDays: ", ">=1"],
  },
  {
    title: "a lifetime with a fraction",
    kind: apiKeyKind,
    spec: { ...key, expiresInDays: 1.5 },
    says: ["spec.expiresInDays: ", "must be of type integer"],
    parseSays: ["spec.expiresInDays: ", "expected int"],
  },
  {
    title: "a duration in days",
    kind: apiKeyKind,
    spec: rotatedWith({ renewBefore: "30d" }),
    says: ["spec.rotation.renewBefore: ", "such as 720h", "days are not a unit"],
  },
  {
    title: "an empty duration",
    kind: apiKeyKind,
    spec: rotatedWith({ overlap: "" }),
    says: ["spec.rotation.overlap: ", "must be a duration"],
  },
  {
    title: "a duration beyond what can be counted",
    kind: apiKeyKind,
    spec: rotatedWith({ overlap: "9999999h" }),
    says: ["spec.rotation.overlap: ", "must be a duration"],
  },
  {
    title: "two times of renewal",
    kind: apiKeyKind,
    spec: rotatedWith({ renewBefore: "24h", renewBeforePercentage: 10 }),
    says: ["spec.rotation: ", "at most one of renewBefore and renewBeforePercentage"],
  },
  {
    title: "a renewal as early as the key is issued",
    kind: apiKeyKind,
    spec: { ...key, expiresInDays: 1, rotation: { renewBefore: "24h" } },
    says: ["spec.rotation: ", "renewBefore must be shorter than the key's lifetime"],
  },
  {
    title: "a renewal before the default lifetime has begun",
    kind: apiKeyKind,
    spec: rotatedWith({ renewBefore: "2160h0m1s" }),
    says: ["spec.rotation: ", "renewBefore must be shorter than the key's lifetime"],
  },
  {
    title: "a rollout of nothing",
    kind: apiKeyKind,
    spec: { ...key, rollout: {} },
    says: ["spec.rollout: ", "must have exactly one of workloadRefs and selector"],
  },
  {
    title: "a rollout by name and by label",
    kind: apiKeyKind,
    spec: { ...key, rollout: { workloadRefs: [{ name: "api" }], selector: {} } },
    says: ["spec.rollout: ", "must have exactly one of workloadRefs and selector"],
  },
  {
    title: "a rollout of a Pod",
    kind: apiKeyKind,
    spec: { ...key, rollout: { workloadRefs: [{ kind: "Pod", name: "api" }] } },
    says: ['spec.rollout.workloadRefs[0].kind: Unsupported value: "Pod"'],
    parseSays: ["spec.rollout.workloadRefs[0].kind: ", '"Deployment"|"StatefulSet"|"DaemonSet"'],
  },
  {
    title: "a rollout less than daily",
    kind: apiKeyKind,
    spec: { ...key, rollout: { selector: {}, minInterval: "24h1s" } },
    says: ["spec.rollout.minInterval: ", "must be a duration from 0s to 24h"],
  },
  {
    title: "a window without a time zone's name",
    kind: apiKeyKind,
    spec: inWindow({ timeZone: "" }),
    says: ["spec.rotation.windows[0].timeZone: ", "such as Europe/Berlin or UTC"],
  },
  {
    title: "a schedule of six fields",
    kind: apiKeyKind,
    spec: inWindow({ schedule: "0 0 3 * * *" }),
    says: ["spec.rotation.windows[0].schedule: ", "must be a cron expression of five fields"],
  },
  {
    title: "a window that never opens",
    kind: apiKeyKind,
    spec: inWindow({ duration: "0s" }),
    says: ["spec.rotation.windows[0].duration: ", "must be a duration from 1m to 8760h"],
  },
  {
    title: "a Secret with an upper-case name",
    kind: apiKeyKind,
    spec: { ...key, secret: { name: "MyKey" } },
    says: ["spec.secret.name: ", "lower-case letters, digits, '-' and '.'"],
  },
  {
    title: "a Secret without the secret",
    kind: apiKeyKind,
    spec: keyWith({ id: "${keyId}" }),
    says: ["spec.secret.data: ", "must have one entry with ${secret} or ${secret:json}"],
  },
  {
    title: "a Secret without entries",
    kind: apiKeyKind,
    spec: keyWith({}),
    says: ["spec.secret.data: ", "must have one entry with ${secret} or ${secret:json}"],
  },
  {
    title: "more template than fits into memory a thousand times",
    kind: apiKeyKind,
    spec: keyWith({
      secret: "${secret}",
      ...Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, "x".repeat(16_384)])),
    }),
    says: ["spec.secret.data: ", "must have at most 65536 characters in all"],
  },
  {
    title: "a secret that is escaped",
    kind: apiKeyKind,
    spec: keyWith({ key: "$$${secret} and $${secret}" }),
    says: ["spec.secret.data: ", "must have one entry with ${secret} or ${secret:json}"],
  },
  ...["${foo}", "${secret", "${ secret }", "${secret:base64}", "a${}b", "${Secret}"].map(
    (text): BadFixture => ({
      title: `the unknown variable ${text}`,
      kind: apiKeyKind,
      spec: keyWith({ key: "${secret}", other: text }),
      says: [
        "spec.secret.data",
        "must use no variables but keyId, secret",
        "for a literal ${ write $${",
      ],
    }),
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
  ].map(
    (type): BadFixture => ({
      title: `a Secret of type "${type}"`,
      kind: apiKeyKind,
      spec: { ...key, secret: { type } },
      says: [
        "spec.secret.type: ",
        "must be kubernetes.io/basic-auth, kubernetes.io/dockerconfigjson, Opaque, or a custom type",
      ],
    }),
  ),
  ...[
    {},
    { data: { username: "u", secret: "${secret}" } },
    { data: { password: "${secret}" } },
  ].map(
    (secret): BadFixture => ({
      title: `a login with the entries ${Object.keys(secret.data ?? {}).join(" and ") || "of a key"}`,
      kind: apiKeyKind,
      spec: { ...key, secret: { type: "kubernetes.io/basic-auth", ...secret } },
      says: ["spec.secret.data: ", '{username: "${keyId}", password: "${secret}"}'],
    }),
  ),
  ...[{}, { data: { ".dockerconfigjson": '{"a": "${secret}"}' } }].map(
    (secret): BadFixture => ({
      title: `a docker config ${"data" in secret ? "that a secret could break" : "without its entry"}`,
      kind: apiKeyKind,
      spec: { ...key, secret: { type: "kubernetes.io/dockerconfigjson", ...secret } },
      says: ["spec.secret.data: ", '"password": ${secret:json}'],
    }),
  ),
  {
    title: "a label that only the operator writes",
    kind: apiKeyKind,
    spec: { ...key, secret: { labels: { "iam-operator.io/role": "target" } } },
    says: ["spec.secret.labels: ", "must not begin with iam-operator.io/"],
  },
  {
    title: "a label's value with a space",
    kind: apiKeyKind,
    spec: { ...key, secret: { labels: { team: "a b" } } },
    says: ["spec.secret.labels", "must be a label's value"],
  },
  {
    title: "more keys a day than anybody needs",
    kind: apiKeyKind,
    spec: { ...key, maxIssuesPerDay: 101 },
    says: ["spec.maxIssuesPerDay: Invalid value: 101", "less than or equal to 100"],
    parseSays: ["spec.maxIssuesPerDay: ", "<=100"],
  },
  // ResourceQuotaExport.
  {
    title: "an interval that is too short",
    kind: resourceQuotaExportKind,
    spec: { clusterId: 7, interval: "14s" },
    says: ["spec.interval: ", "must be a duration from 15s to 24h"],
  },
  {
    title: "a cluster that is no number",
    kind: resourceQuotaExportKind,
    spec: { clusterId: "7" },
    says: ["spec.clusterId: ", "must be of type integer"],
    parseSays: ["spec.clusterId: ", "expected"],
  },
  {
    title: "no cluster",
    kind: resourceQuotaExportKind,
    spec: { clusterId: 0 },
    says: ["spec.clusterId: ", "greater than or equal to 1"],
    parseSays: ["spec.clusterId: ", ">=1"],
  },
];

/** What the API server cannot judge, so that it becomes `Stalled, reason InvalidSpec`. */
export const stalled: readonly BadFixture[] = [
  {
    title: "an entry whose name no Secret can have",
    kind: apiKeyKind,
    spec: keyWith({ "a/b": "${secret}" }),
    says: ["spec.secret.data: must have entry names of letters, digits"],
  },
  {
    title: "a label that no object can have",
    kind: apiKeyKind,
    spec: { ...key, secret: { labels: { "a b": "c" } } },
    says: ["spec.secret.labels: must have keys such as team"],
  },
  {
    title: "a time zone that does not exist",
    kind: apiKeyKind,
    spec: inWindow({ timeZone: "Europe/Atlantis" }),
    says: ["spec.rotation.windows[0].timeZone: must be an IANA time zone"],
  },
  {
    title: "a schedule with fields out of range",
    kind: apiKeyKind,
    spec: inWindow({ schedule: "99 99 * * *" }),
    says: [
      "spec.rotation.windows[0].schedule: must be a cron expression whose fields are in range",
    ],
  },
  {
    title: "a schedule of days that do not exist",
    kind: apiKeyKind,
    spec: inWindow({ schedule: "0 0 30 2 *" }),
    says: ["spec.rotation.windows[0].schedule: must name a day that exists"],
  },
  {
    title: "a port that does not exist",
    kind: connectionKind,
    spec: { ...connection, baseURL: "https://console.example.com:99999" },
    says: ["spec.baseURL: must be a valid URL"],
  },
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
