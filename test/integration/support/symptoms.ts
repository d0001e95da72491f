/** Things that go wrong, each broken on purpose in one of two worlds: with a Connection, or with a ClusterConnection. */

import type { Kinds } from "../../../src/api/kinds.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../../tools/iam-server/seed.ts";
import type { World } from "../../real-world/world.ts";

export interface Symptom {
  /** What was done, as its author would tell it. */
  readonly broken: string;
  readonly kind: keyof Kinds;
  readonly name: string;
  /** The reason of the condition Ready, unless `condition` names another one. */
  readonly reason: string;
  readonly condition?: string;
  arrange(world: World): Promise<unknown>;
}

const own = { connectionRef: { kind: "Connection", name: "console" } };
const bindingOf = (account: string, ...policyIds: readonly string[]) => ({
  serviceAccountRef: { name: account },
  policyIds,
});
const keyOf = (account: string, spec: object = {}) => ({
  serviceAccountRef: { name: account },
  ...spec,
});

function connection(
  broken: string,
  name: string,
  reason: string,
  changes: object,
  login: Readonly<Record<string, string>> | "None" = DEFAULT_CREDENTIALS_TEXT,
): Symptom {
  return {
    broken,
    kind: "Connection",
    name,
    reason,
    arrange: async (world) => {
      if (login !== "None") await world.writeSecret(name, login);
      const { spec } = await world.get("Connection", "console");
      const credentials = { login: { secretRef: { name } } };
      await world.apply("Connection", name, { ...spec, credentials, ...changes });
    },
  };
}

const DEFAULT_CREDENTIALS_TEXT = { ...DEFAULT_CREDENTIALS };

/** Of an account that is ready first. */
function account(
  broken: string,
  name: string,
  reason: string,
  breakIt: (world: World, saId: string) => unknown,
): Symptom {
  return {
    broken,
    kind: "ServiceAccount",
    name,
    reason,
    arrange: async (world) => {
      await world.serviceAccount(name);
      await world.ready("ServiceAccount", name);
      const { status } = await world.get("ServiceAccount", name);
      await breakIt(world, status?.saId ?? "");
    },
  };
}

/** Of a key that is ready first. */
function key(
  broken: string,
  name: string,
  reason: string,
  breakIt: (world: World, keyId: string) => unknown,
  spec: object = {},
): Symptom {
  return {
    broken,
    kind: "ApiKey",
    name,
    reason,
    arrange: async (world) => {
      await world.apiKey(name, keyOf("ci-bot", spec));
      await world.ready("ApiKey", name);
      const { status } = await world.get("ApiKey", name);
      await breakIt(world, status?.current?.keyId ?? "");
    },
  };
}

const reconcileNow = { "iam-operator.io/reconcile-requested-at": "now" };

const connections: readonly Symptom[] = [
  connection(
    "The password in the login's Secret is wrong",
    "wrong-password",
    "LoginFailed",
    {},
    {
      ...DEFAULT_CREDENTIALS_TEXT,
      password: "not-the-password",
    },
  ),
  connection(
    "The login requires a second factor",
    "second-factor",
    "MfaRequired",
    {},
    {
      ...DEFAULT_CREDENTIALS_TEXT,
      username: SEEDED.mfaUser,
    },
  ),
  connection("The login's Secret does not exist", "no-secret", "SecretNotFound", {}, "None"),
  connection(
    "The login's Secret lacks the entry `password`",
    "no-password",
    "SecretIncomplete",
    {},
    {
      username: "operator",
      domain: "acme",
    },
  ),
  connection("Nothing listens at the connection's address", "no-listener", "ConsoleUnavailable", {
    baseURL: "http://127.0.0.1:9",
  }),
  connection(
    "`spec.suspend` is set on a connection that has not logged in yet",
    "paused",
    "Suspended",
    { suspend: true },
  ),
];

const accounts: readonly Symptom[] = [
  {
    broken: "A ServiceAccount names a connection that does not exist",
    kind: "ServiceAccount",
    name: "no-connection",
    reason: "ConnectionNotFound",
    arrange: (world) =>
      world.serviceAccount("no-connection", {
        connectionRef: { kind: "Connection", name: "missing" },
      }),
  },
  {
    broken: "An account with the same name already exists in the console",
    kind: "ServiceAccount",
    name: "taken",
    reason: "AccountExists",
    arrange: (world) => {
      const { orgId, projectId } = SEEDED;
      world.iam.world.createAccount({ orgId, projectId, name: "taken", description: "" });
      return world.serviceAccount("taken", { name: "taken" });
    },
  },
  {
    broken: "`spec.saId` names an account that the console does not have",
    kind: "ServiceAccount",
    name: "mistyped",
    reason: "ServiceAccountNotFound",
    arrange: (world) => world.serviceAccount("mistyped", { saId: "sa-mistyped" }),
  },
  {
    broken: "Two ServiceAccounts import one account",
    kind: "ServiceAccount",
    name: "second-import",
    reason: "AlreadyClaimed",
    arrange: async (world) => {
      const { orgId, projectId } = SEEDED;
      const made = { orgId, projectId, name: "imported-twice", description: "" };
      const { saId } = world.iam.world.createAccount(made);
      await world.serviceAccount("first-import", { saId });
      await world.ready("ServiceAccount", "first-import");
      await world.serviceAccount("second-import", { saId });
    },
  },
  account("`spec.access` is `Revoked`", "revoked", "AccessRevoked", (world) =>
    world.patch("ServiceAccount", "revoked", { spec: { access: "Revoked" } }),
  ),
  account("`spec.suspend` is set on a ServiceAccount", "suspended", "Suspended", (world) =>
    world.patch("ServiceAccount", "suspended", { spec: { suspend: true } }),
  ),
  account(
    "An administrator disabled the account in the console",
    "disabled",
    "ServiceAccountNotActive",
    async (world, saId) => {
      world.iam.world.setAccountStatus(saId, "inactive");
      await world.annotate("ServiceAccount", "disabled", reconcileNow);
    },
  ),
  account(
    "An administrator deleted the account in the console",
    "deleted",
    "ServiceAccountGone",
    async (world, saId) => {
      world.iam.world.deleteAccount(saId);
      await world.annotate("ServiceAccount", "deleted", reconcileNow);
    },
  ),
  account(
    "A ServiceAccount is deleted while an ApiKey uses it",
    "in-use",
    "InUse",
    async (world) => {
      await world.apiKey("user-of-in-use", keyOf("in-use"));
      await world.ready("ApiKey", "user-of-in-use");
      await world.delete("ServiceAccount", "in-use");
    },
  ),
];

const bindings: readonly Symptom[] = [
  {
    broken: "A PolicyBinding names a ServiceAccount that does not exist",
    kind: "PolicyBinding",
    name: "no-account",
    reason: "WaitingForServiceAccount",
    arrange: (world) =>
      world.apply("PolicyBinding", "no-account", bindingOf("missing", "pol-read")),
  },
  {
    broken: "A PolicyBinding names a policy that the console does not have",
    kind: "PolicyBinding",
    name: "no-policy",
    reason: "PolicyRefused",
    arrange: async (world) => {
      await world.serviceAccount("of-no-policy");
      await world.apply("PolicyBinding", "no-policy", bindingOf("of-no-policy", "pol-mistyped"));
    },
  },
  {
    broken: "A PolicyBinding names a policy of kind scp",
    kind: "PolicyBinding",
    name: "scp",
    reason: "PolicyRefused",
    arrange: async (world) => {
      await world.serviceAccount("of-scp");
      await world.apply("PolicyBinding", "scp", bindingOf("of-scp", "pol-scp-guardrail"));
    },
  },
  {
    broken: "`spec.suspend` is set on a PolicyBinding whose policies are not bound yet",
    kind: "PolicyBinding",
    name: "suspended",
    reason: "Suspended",
    arrange: (world) =>
      world.apply("PolicyBinding", "suspended", {
        ...bindingOf("ci-bot", "pol-read"),
        suspend: true,
      }),
  },
];

const keys: readonly Symptom[] = [
  {
    broken: "An ApiKey names a ServiceAccount that does not exist",
    kind: "ApiKey",
    name: "key-without-account",
    reason: "ServiceAccountNotFound",
    arrange: (world) => world.apiKey("key-without-account", keyOf("missing")),
  },
  {
    broken: "A Secret with the ApiKey's name already exists",
    kind: "ApiKey",
    name: "occupied",
    reason: "SecretConflict",
    arrange: async (world) => {
      await world.writeSecret("occupied", { of: "another program" });
      await world.apiKey("occupied", keyOf("ci-bot"));
    },
  },
  {
    broken: "Two ApiKeys name the same Secret",
    kind: "ApiKey",
    name: "shared-second",
    reason: "SecretConflict",
    arrange: async (world) => {
      const secret = { secret: { name: "shared" } };
      await world.apiKey("shared-first", keyOf("ci-bot", secret));
      await world.ready("ApiKey", "shared-first");
      await world.apiKey("shared-second", keyOf("ci-bot", secret));
    },
  },
  key(
    "An ApiKey's Secret is deleted, and its daily budget is used up",
    "no-budget",
    "BudgetExceeded",
    (world) => world.kube.delete(secretType, { namespace: world.namespace, name: "no-budget" }, {}),
    { maxIssuesPerDay: 1 },
  ),
  key("`spec.suspend` is set on an ApiKey", "suspended", "Suspended", (world) =>
    world.patch("ApiKey", "suspended", { spec: { suspend: true } }),
  ),
  key(
    "A rotation is requested while the ApiKey is suspended",
    "rotated-while-suspended",
    "Suspended",
    async (world) => {
      await world.patch("ApiKey", "rotated-while-suspended", { spec: { suspend: true } });
      await world.annotate("ApiKey", "rotated-while-suspended", {
        "iam-operator.io/rotate-requested-at": "now",
      });
    },
  ),
  {
    ...key(
      "`spec.rollout` is set, but the operator cannot restart workloads",
      "no-rollout",
      "RestartsDisabled",
      () => undefined,
      {
        rollout: { workloadRefs: [{ kind: "Deployment", name: "api" }] },
      },
    ),
    condition: "RolledOut",
  },
  {
    broken: "The annotation `plan-only` is set on an ApiKey",
    kind: "ApiKey",
    name: "planned",
    reason: "PlanOnly",
    arrange: (world) =>
      world.apiKey("planned", keyOf("ci-bot"), {
        annotations: { "iam-operator.io/plan-only": "true" },
      }),
  },
];

const exports: readonly Symptom[] = [
  {
    broken: "A ResourceQuotaExport names a cluster that the console does not have",
    kind: "ResourceQuotaExport",
    name: "no-cluster",
    reason: "NotFound",
    arrange: (world) =>
      world.apply("ResourceQuotaExport", "no-cluster", { ...own, clusterId: 4_711 }),
  },
  {
    broken: "A ResourceQuotaExport names an ApiKey that does not exist",
    kind: "ResourceQuotaExport",
    name: "no-key",
    reason: "WaitingForApiKey",
    arrange: (world) =>
      world.apply("ResourceQuotaExport", "no-key", {
        ...own,
        clusterId: SEEDED.clusterId,
        apiKeyRef: { name: "missing" },
      }),
  },
];

/** With the Connection `console` of the world and the ServiceAccount `ci-bot`. */
export const withConnection: readonly Symptom[] = [
  ...connections,
  ...accounts,
  ...bindings,
  ...keys,
  ...exports,
];

/** The grant of the world with a ClusterConnection. */
export const grantOf = (world: World) => ({
  name: "granted",
  namespaces: { names: [world.namespace] },
  policyIds: ["pol-read"],
  maxExpiresInDays: 30,
  maxServiceAccounts: 1,
});

const ofCluster = (world: World) => ({
  connectionRef: { kind: "ClusterConnection", name: world.namespace },
});

/** With a ClusterConnection that has the name of the world's namespace, and the ServiceAccount `ci-bot` of it. */
export const withClusterConnection: readonly Symptom[] = [
  {
    broken: "A PolicyBinding names a policy that the grant does not list",
    kind: "PolicyBinding",
    name: "more-than-granted",
    reason: "PolicyNotGranted",
    arrange: (world) =>
      world.apply(
        "PolicyBinding",
        "more-than-granted",
        bindingOf("ci-bot", "pol-read", "pol-deploy"),
      ),
  },
  {
    broken: "An ApiKey asks for a longer lifetime than the grant allows",
    kind: "ApiKey",
    name: "too-long",
    reason: "LifetimeNotGranted",
    arrange: (world) => world.apiKey("too-long", keyOf("ci-bot", { expiresInDays: 90 })),
  },
  {
    broken: "A ServiceAccount imports an account, and the grant does not allow imports",
    kind: "ServiceAccount",
    name: "import",
    reason: "NotGranted",
    arrange: (world) =>
      world.serviceAccount("import", { ...ofCluster(world), saId: "sa-of-others" }),
  },
  {
    broken: "A ServiceAccount names a project that the grant does not list",
    kind: "ServiceAccount",
    name: "other-project",
    reason: "ProjectNotGranted",
    arrange: (world) =>
      world.serviceAccount("other-project", {
        ...ofCluster(world),
        projectId: SEEDED.otherProjectId,
      }),
  },
  {
    broken: "A namespace creates more ServiceAccounts than its grant allows",
    kind: "ServiceAccount",
    name: "one-too-many",
    reason: "TooManyServiceAccounts",
    arrange: (world) => world.serviceAccount("one-too-many", ofCluster(world)),
  },
  {
    broken: "A ResourceQuotaExport without a key names a cluster that the grant does not list",
    kind: "ResourceQuotaExport",
    name: "not-granted",
    reason: "QuotaExportNotGranted",
    arrange: (world) =>
      world.apply("ResourceQuotaExport", "not-granted", { ...ofCluster(world), clusterId: 7 }),
  },
];
