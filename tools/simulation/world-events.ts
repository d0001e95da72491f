/** Carries out what somebody does to the world. */

import { objectPath } from "../../src/kube/client/api-path.ts";
import type { ResourceType } from "../../src/kube/resource.ts";
import { leaseType, namespaceType, secretType } from "../../src/kube/resource-types.ts";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import { type Tree, textAt, treeAt } from "../api-server/tree.ts";
import type { WorldEvent } from "./faults.ts";
import { apiKeysOf } from "./invariants/view.ts";
import { NAMESPACE, OPERATOR_NAMESPACE } from "./places.ts";
import type { SimWorld } from "./sim-world.ts";

export function happen(world: SimWorld, event: WorldEvent): void {
  switch (event.kind) {
    case "DeleteSecret":
      for (const name of targetSecrets(world)) world.delete(secretType, name);
      return;
    case "EditSecret":
      for (const name of targetSecrets(world)) world.patch(secretType, name, EDITS[event.how]);
      return;
    case "DeleteNamespace":
      world.delete(namespaceType, NAMESPACE);
      return;
    case "DeleteObject":
      for (const name of namesOf(world, event.plural))
        world.delete(typeOf(world, event.plural), name);
      return;
    case "RecreateObject":
      recreate(world, event.plural);
      return;
    case "WipeStatus":
      patchAll(world, event.plural, { status: null }, "status");
      return;
    case "RemoveFinalizers":
      patchAll(world, event.plural, { metadata: { finalizers: null } });
      return;
    case "RevokeTokens":
      world.console.world.revokeTokens();
      return;
    case "DemandSecondFactor":
      for (const user of world.console.world.users.values()) user.mfaRequired = true;
      world.console.world.revokeTokens();
      return;
    case "EndKeys":
      endKeys(world, event);
      return;
    case "EndAccounts":
      endAccounts(world, event);
      return;
    case "Restore":
      world.restore(event.bumped);
      return;
    case "JumpClock":
      world.stepClock(event.of ?? "operator", event.ms, event.forMs);
      return;
    case "Kill":
      world.process?.crash();
      return;
    case "Stop":
      world.stopOperator();
      return;
    case "PauseLeader":
      world.process?.pauseFor(event.ms);
      return;
    case "StealLease":
      writeLease(world, "PATCH", { spec: { holderIdentity: "thief", leaseDurationSeconds: 15 } });
      return;
    case "DeleteLease":
      writeLease(world, "DELETE");
      return;
    case "Compact":
      world.kube.storage.compact();
      return;
    case "ListsBehind":
      world.putListsBehind(event.ms, event.forMs);
      return;
  }
}

/** Of the keys in use. */
function endKeys(world: SimWorld, { how, forMs }: Extract<WorldEvent, { kind: "EndKeys" }>): void {
  const { keys } = world.console.world;
  for (const { status } of apiKeysOf(world)) {
    const { keyId = "" } = status?.current ?? {};
    if (!keys.has(keyId)) continue;
    if (how === "Delete") world.deleteKeyInConsole(keyId);
    else if (how === "Expire") world.expireKeyInConsole(keyId);
    else world.setKeyStatusInConsole(keyId, "inactive");
    if (how === "Disable")
      undo(world, forMs, () => {
        if (keys.has(keyId)) world.setKeyStatusInConsole(keyId, "active");
      });
  }
}

function endAccounts(
  world: SimWorld,
  { how, forMs }: Extract<WorldEvent, { kind: "EndAccounts" }>,
): void {
  const { accounts } = world.console.world;
  for (const saId of [...accounts.keys()]) {
    if (how === "Delete") {
      world.deleteAccountInConsole(saId);
      continue;
    }
    world.setAccountStatusInConsole(saId, "inactive");
    undo(world, forMs, () => {
      if (accounts.has(saId)) world.setAccountStatusInConsole(saId, "active");
    });
  }
}

function undo({ faults, kernel }: SimWorld, afterMs: number | undefined, act: () => void): void {
  if (afterMs === undefined) return;
  const done = faults.defer();
  kernel.schedule(afterMs, () => {
    act();
    done();
  });
}

function patchAll(world: SimWorld, plural: string, patch: Tree, subresource?: string): void {
  const type = typeOf(world, plural);
  for (const name of namesOf(world, plural)) world.patch(type, name, patch, subresource);
}

/** As somebody who heeds no rules. */
function writeLease(world: SimWorld, method: "PATCH" | "DELETE", body?: Tree): void {
  const path = objectPath(leaseType, { namespace: OPERATOR_NAMESPACE, name: "iam-operator" });
  world.kube.handle({
    method,
    url: `https://kube${path}`,
    headers: { "content-type": "application/merge-patch+json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const EDITS: Readonly<Record<(WorldEvent & { kind: "EditSecret" })["how"], Tree>> = {
  TearPair: { stringData: { secret: "edited-by-somebody" } },
  RemoveEntry: { data: { secret: null } },
  MakeImmutable: { immutable: true },
};

/** Gone for good, without waiting for finalizers, and back under the same name. */
function recreate(world: SimWorld, plural: string): void {
  const type = typeOf(world, plural);
  for (const name of namesOf(world, plural)) {
    const object = world.get(type, name);
    if (object === undefined) continue;
    world.patch(type, name, { metadata: { finalizers: null } });
    world.delete(type, name);
    const namespace = textAt(treeAt(object, "metadata"), "namespace");
    world.offer(type, {
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
      ...(object.spec === undefined ? {} : { spec: object.spec }),
    });
  }
}

function targetSecrets(world: SimWorld): readonly string[] {
  return world.list(apiKeyType).flatMap(({ metadata, spec }) => {
    const secret = treeAt((spec ?? {}) as Tree, "secret");
    return textAt(secret, "name") ?? textAt(metadata as Tree, "name") ?? [];
  });
}

function typeOf(world: SimWorld, plural: string): ResourceType {
  const kind = world.kube.kinds.find(({ type }) => type.plural === plural);
  if (kind === undefined) throw new Error(`no kind ${plural}`);
  return kind.type;
}

function namesOf(world: SimWorld, plural: string): readonly string[] {
  return world
    .list(typeOf(world, plural))
    .map(({ metadata }) => textAt(metadata as Tree, "name") ?? "");
}
