/**
 * What a world has come to, without what differs from run to run: ids, times, counters, the keys' values, and what
 * is told of the way there. Two runs with the same declared state end in the same final state, whatever happened in between.
 */

import { asRead, type KubeObject } from "../../src/kube/resource.ts";
import { isTree, type Json, listAt, type Tree, textAt, treeAt } from "../api-server/tree.ts";
import { isTarget, pairOf } from "./invariants/view.ts";
import { NAMESPACE } from "./places.ts";
import type { SimWorld } from "./sim-world.ts";

/** One line for each thing that was found. */
export function finalStateOf(world: SimWorld): readonly string[] {
  const objects = world.kube.storage.all.flatMap(({ kind, object }): readonly [string, Tree][] => {
    const { name, namespace } = treeAt(object, "metadata");
    const place = `${kind.type.kind} ${String(namespace ?? "")}/${String(name)}`;
    if (kind.custom)
      return [
        [
          place,
          customObject(asRead(kind.type, object as unknown as KubeObject) as unknown as Tree),
        ],
      ];
    const isOurs = kind.type.kind === "Secret" && namespace === NAMESPACE;
    return isOurs ? [[place, secret(world, object)]] : [];
  });
  const bound = [...world.console.world.bindings.values()].map((ids) => [...ids].sort());
  return [
    ...objects.flatMap(([place, tree]) => linesOf(tree, place)),
    ...linesOf(bound, "bound at the console"),
  ].sort();
}

/** The first thing that one final state has and the other has not. */
export function differenceOf(
  expected: readonly string[],
  found: readonly string[],
): string | undefined {
  const [wanted, had] = [new Set(expected), new Set(found)];
  const missing = expected.find((line) => !had.has(line));
  const surplus = found.find((line) => !wanted.has(line));
  if (missing === undefined && surplus === undefined) return undefined;
  return `without faults: ${missing ?? "-"}; now: ${surplus ?? "-"}`;
}

/** Given by the console, and by nobody twice; or what the connection says about the console. */
const PASSING_SPEC = new Set(["saId", "accountListPages"]);

const PASSING_STATUS = new Set([
  "conditions",
  "unansweredSync",
  "observedGeneration",
  "saId",
  "tpn",
  "liveKeyIds",
  "inactiveKeyIds",
  "listsKeyStates",
  "keyCount",
  "unmanagedKeys",
  "orphanedAccounts",
  "unmanagedKeyCount",
  "expiredKeyIds",
  "lastKeyListTime",
  "lastRecoveryTime",
  "clockSkewSeconds",
  "current",
  "readable",
  "renewalTime",
  "revocation",
  "attempt",
  "lastAttemptId",
  "pending",
  "content",
  "consumers",
  "lastHandledReconcileAt",
  "superseded",
  "orphaned",
  "orphanCount",
  "unreadableResponse",
  "recentIssues",
  "lastAuthenticationTime",
  "lastSuccessTime",
  "lastSyncTime",
]);

function customObject(object: Tree): Tree {
  const { name: _, ...metadata } = treeAt(object, "metadata");
  const status = treeAt(object, "status");
  return {
    metadata: {
      ...("labels" in metadata ? { labels: metadata.labels } : {}),
      // What has nothing bound yet need not be held.
      ...(String(readyOf(status)).startsWith("True")
        ? { finalizers: listAt(metadata, "finalizers") }
        : {}),
    },
    spec: without(treeAt(object, "spec"), PASSING_SPEC),
    status: withoutCase(without(status, PASSING_STATUS)),
    ready: readyOf(status),
    hasKey: status.current !== undefined,
    isUnsettled: status.attempt !== undefined,
  };
}

/** Policies that no PolicyBinding declares are named as the console spells them. */
function withoutCase(status: Tree): Tree {
  const bindings = treeAt(status, "bindings");
  if (bindings.policies === undefined) return status;
  const policies = listAt(bindings, "policies")
    .filter(isTree)
    .map(({ policyId, state }) => ({
      state: String(state),
      policyId: state === "Declared" ? String(policyId) : String(policyId).toLowerCase(),
    }));
  return { ...status, bindings: { ...bindings, policies } };
}

function readyOf(status: Tree): Json {
  const ready = listAt(status, "conditions").find((each) => isTree(each) && each.type === "Ready");
  return isTree(ready) ? `${textAt(ready, "status")} ${textAt(ready, "reason")}` : null;
}

function secret(world: SimWorld, object: Tree): Tree {
  const metadata = treeAt(object, "metadata");
  const known = object as unknown as Parameters<typeof pairOf>[0];
  const pair = pairOf(known);
  return {
    type: object.type,
    labels: metadata.labels ?? null,
    annotations: Object.keys(treeAt(metadata, "annotations")).filter((name) => !WAYS.test(name)),
    owners: listAt(metadata, "ownerReferences").map((owner) =>
      isTree(owner) ? (owner.name ?? null) : null,
    ),
    entries: Object.keys(treeAt(object, "data")),
    isPair:
      !isTarget(known) || pair === undefined || world.console.world.isPair(pair.keyId, pair.secret),
  };
}

/** Tell of the key before, or of the attempt that a pair comes from. */
const WAYS = /previous|attempt/;

function without(tree: Tree, names: ReadonlySet<string>): Tree {
  const result: Tree = {};
  for (const [name, value] of Object.entries(tree)) {
    if (names.has(name)) continue;
    result[name] = isTree(value) ? without(value, names) : value;
  }
  return result;
}

function linesOf(value: Json | undefined, path: string): readonly string[] {
  if (isTree(value)) {
    return Object.entries(value).flatMap(([name, part]) => linesOf(part, `${path} ${name}`));
  }
  if (!Array.isArray(value))
    return value === undefined ? [] : [`${path}: ${JSON.stringify(value)}`];
  if (value.length === 0) return [];
  const isPlain = value.every((item) => !isTree(item) && !Array.isArray(item));
  if (isPlain) return [`${path}: ${[...value].sort().join(" ")}`];
  return value.flatMap((item, index) => linesOf(item, `${path}[${index}]`));
}
