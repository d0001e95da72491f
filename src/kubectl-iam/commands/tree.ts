/** `tree`: shows connections, their accounts, the objects of each account, and the Pods that use them. */
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey } from "../../api/api-key.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Instant } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { declaredText } from "../cluster/bound-policies.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { type AnyObject, type Named, nameOf, toText } from "../cluster/kinds.ts";
import { noteLeader } from "../cluster/leader.ts";
import { missingSecrets, secretOf } from "../cluster/missing-secrets.ts";
import { podsBySecret } from "../cluster/pods.ts";
import { noteUnreadable, readWorld, type World } from "../cluster/read.ts";
import { belongsTo, refersTo } from "../cluster/relations.ts";
import { orphanedAccounts } from "../view/orphaned-accounts.ts";
import { isStructured, printTable, printValue } from "../view/output.ts";
import { readinessOf, readyCell } from "../view/readiness.ts";
import type { Cell } from "../view/table.ts";
import { age, relative } from "../view/time.ts";
import { drawTree, type Node } from "../view/tree.ts";

interface Leaf {
  readonly object: string;
  readonly namespace?: string | undefined;
  readonly ready?: string | undefined;
  readonly reason?: string | undefined;
  readonly isStalled?: boolean;
  readonly created?: string | undefined;
  readonly detail?: string | undefined;
}

/** What was read beside the operator's objects. */
interface Beside {
  readonly pods: ReadonlyMap<string, readonly string[]> | undefined;
  /** Secrets that do not exist. */
  readonly missing: ReadonlySet<string>;
  readonly now: Instant;
}

export async function run(invocation: Invocation): Promise<void> {
  const { io, options } = invocation;
  await using cluster = await openCluster(io, options);
  const namespace = scopeOf(cluster, options);
  const [{ world, unreadable }, pods] = await Promise.all([
    readWorld(cluster, namespace),
    podsBySecret(cluster, namespace),
  ]);
  const missing = await missingSecrets(cluster, namespace, world.apiKeys);
  await noteLeader(invocation, cluster);
  const now = cluster.now();
  const roots = growTree(world, { pods, missing, now });
  if (isStructured(invocation)) return await printValue(invocation, { items: roots });
  await printTable(invocation, {
    rows: drawTree(roots),
    columns: [
      ...(options.allNamespaces
        ? [{ title: "NAMESPACE", cell: ({ value }: { value: Leaf }) => value.namespace ?? "" }]
        : []),
      { title: "OBJECT", cell: ({ lines, value }) => `${lines}${value.object}` },
      { title: "READY", cell: ({ value }) => leafReady(value) },
      { title: "REASON", cell: ({ value }) => value.reason ?? "" },
      { title: "AGE", cell: ({ value }) => (value.created ? age(value.created, now) : "") },
      { title: "DETAIL", cell: ({ value }) => value.detail ?? "", flexible: true },
    ],
    empty: "No connections and no accounts here.",
  });
  noteUnreadable(io, unreadable);
  if (pods === undefined)
    io.note("Pods are left out: you do not have permission to list them here.");
}

function leafReady({ ready, reason = "", isStalled = false }: Leaf): Cell {
  if (ready === undefined) return "";
  return readyCell({ ready: ready as "True", reason, message: "", isStalled });
}

/** Pure. An account whose connection cannot be read still appears below the connection's name. */
export function growTree(world: World, beside: Beside): readonly Node<Leaf>[] {
  const connections = [...world.clusterConnections, ...world.connections] as readonly AnyObject[];
  const seen = connections.map((connection) => connectionNode(connection, world, beside));
  const isSeen = (account: ServiceAccount) =>
    connections.some((connection) => refersTo(account, connection));
  const unseen = Map.groupBy(
    world.serviceAccounts.filter((account) => !isSeen(account)),
    ({ spec }) => toText(spec.connectionRef),
  );
  const rest = [...unseen].map(([object, accounts]) => ({
    value: { object, detail: "not visible to you, or not there" },
    children: accounts.map((account) => accountNode(account, world, beside)),
  }));
  // In one namespace, leave out shared connections that nothing in it uses.
  return [
    ...seen.filter(({ value, children }) => value.namespace !== undefined || children.length > 0),
    ...rest,
    ...danglingNodes(world, beside),
  ];
}

function connectionNode(connection: AnyObject, world: World, beside: Beside): Node<Leaf> {
  const accounts = world.serviceAccounts.filter((each) => refersTo(each, connection));
  const exports = world.quotaExports.filter((each) => refersTo(each, connection));
  const { baseURL } = connection.spec as { readonly baseURL?: string };
  return {
    value: leafOf(connection, baseURL),
    children: [
      ...accounts.map((account) => accountNode(account, world, beside)),
      ...exports.map((each) => ({ value: leafOf(each), children: [] })),
    ],
  };
}

function accountNode(account: ServiceAccount, world: World, beside: Beside): Node<Leaf> {
  const bindings = world.policyBindings.filter((each) => belongsTo(each, account));
  const keys = world.apiKeys.filter((each) => belongsTo(each, account));
  return {
    value: leafOf(account, account.status?.saId),
    children: [
      ...bindings.map((each) => bindingNode(each, account)),
      ...keys.map((key) => keyNode(key, beside)),
      ...orphanedAccounts(account, beside.now).map(({ saId, why }) => ({
        value: {
          object: `account ${saId}`,
          namespace: account.metadata.namespace,
          detail: `orphaned: ${why}`,
        },
        children: [],
      })),
    ],
  };
}

/** Objects that refer to an account that does not exist. */
function danglingNodes(world: World, beside: Beside): readonly Node<Leaf>[] {
  const isDangling = (object: PolicyBinding | ApiKey) =>
    !world.serviceAccounts.some((account) => belongsTo(object, account));
  return [
    ...world.policyBindings.filter(isDangling).map((each) => bindingNode(each)),
    ...world.apiKeys.filter(isDangling).map((key) => keyNode(key, beside)),
  ];
}

function bindingNode(binding: PolicyBinding, account?: ServiceAccount): Node<Leaf> {
  return { value: leafOf(binding, declaredText(binding, account)), children: [] };
}

function keyNode(key: ApiKey, beside: Beside): Node<Leaf> {
  const { current } = key.status ?? {};
  const owner = accountInUse(key);
  const of = owner === key.spec.serviceAccountRef.name ? "" : `, key of iamsa/${owner}`;
  const detail = current && `expires ${relative(current.expirationTime, beside.now)}${of}`;
  return {
    value: leafOf(key, detail),
    children: secretOf(key).map((secret) => secretNode(secret, current === undefined, beside)),
  };
}

function secretNode(
  secret: ObjectKey,
  isWithoutKey: boolean,
  { pods, missing }: Beside,
): Node<Leaf> {
  const { namespace, name } = secret;
  const children = (pods?.get(keyText(secret)) ?? []).map((pod) => ({
    value: { object: `pod/${pod}`, namespace },
    children: [],
  }));
  const detail = missing.has(keyText(secret))
    ? "does not exist"
    : isWithoutKey
      ? "without a key yet"
      : undefined;
  return { value: { object: `secret/${name}`, namespace, detail }, children };
}

function leafOf(object: Named & Pick<AnyObject, "status">, detail?: string): Leaf {
  const { metadata } = object;
  return {
    object: nameOf(object),
    namespace: metadata.namespace,
    ...readinessOf(object),
    created: metadata.creationTimestamp,
    detail,
  };
}
