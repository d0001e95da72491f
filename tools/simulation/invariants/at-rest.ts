/** What must hold once faults have stopped and the world has come to rest. */

import { recordedPolicies } from "../../../src/accounts/recorded-policies.ts";
import { listedKeyIds } from "../../../src/kinds/api-key/rules/status.ts";
import { isSpelledLike } from "../../../src/util/spelling.ts";
import { DAY, HOUR, SECOND } from "../../../src/util/time.ts";
import type { ServedKind } from "../../api-server/kinds.ts";
import { isTree, listAt, type Tree, textAt, treeAt } from "../../api-server/tree.ts";
import type { KeyRecord } from "../../iam-server/world.ts";
import type { CallRecord } from "../journal.ts";
import { NAMESPACE } from "../places.ts";
import type { SimWorld } from "../sim-world.ts";
import { keysAccountedFor } from "./key-accounting.ts";
import { adviceKeepsKeys } from "./safe-advice.ts";
import {
  accountsOf,
  apiKeysOf,
  isLockedOut,
  isPeer,
  issuerOf,
  placeOf,
  type StoredApiKey,
} from "./view.ts";

export interface End {
  readonly world: SimWorld;
  /** Issues that a run without faults makes. */
  readonly epochs: number;
  /** Issues that faults may cost: crashes, lost answers, Secrets that people destroyed. */
  readonly allowance: number;
  /** The first call after the world should have been quiet. */
  readonly quietSince: number;
  /** What was stored then. */
  readonly picture: string;
  /** What is not as declared. */
  readonly unreached: (world: SimWorld) => string | undefined;
}

export type EndCheck = (end: End) => string | undefined;

export function everythingIsReady(world: SimWorld): string | undefined {
  const waiting = world.kube.storage.all
    .filter(({ kind }) => kind.custom)
    .filter(({ object }) => !isReady(object) && !isCapped(object));
  return waiting.length === 0
    ? undefined
    : waiting.map(({ kind, object }) => `${kind.type.kind} ${stateOf(object)}`).join("; ");
}

/** Whether keys were lost so often that the next one has to wait: where S4 holds, L1 has to. */
export function isCapped(object: Tree): boolean {
  const status = treeAt(object, "status");
  const [orphaned, superseded] = [listAt(status, "orphaned"), listAt(status, "superseded")];
  const isHeldBy = (reason: string) =>
    listAt(status, "conditions").some(
      (each) => isTree(each) && each.type === "IssuanceAllowed" && each.reason === reason,
    );
  return (
    (isHeldBy("BudgetExceeded") && orphaned.length + superseded.length > 1) ||
    (isHeldBy("TooManyOrphanedKeys") && orphaned.length > 1)
  );
}

export function isReady(object: Tree): boolean {
  const { generation, deletionTimestamp } = treeAt(object, "metadata");
  const status = treeAt(object, "status");
  return (
    deletionTimestamp === undefined &&
    status.observedGeneration === generation &&
    listAt(status, "conditions").some(
      (each) => isTree(each) && each.type === "Ready" && each.status === "True",
    )
  );
}

function stateOf(object: Tree): string {
  const metadata = treeAt(object, "metadata");
  const ready = listAt(treeAt(object, "status"), "conditions")
    .filter(isTree)
    .find(({ type }) => type === "Ready");
  const why =
    ready === undefined
      ? "has no Ready"
      : `${textAt(ready, "reason")}: ${textAt(ready, "message")}`;
  const going = metadata.deletionTimestamp === undefined ? "" : " is being deleted,";
  return `${String(metadata.name)}${going} ${why}`;
}

const everyKeyIsAccounted: EndCheck = ({ world }) => {
  if (world.hasMeddled) return undefined;
  const lost = unaccountedKeys(world).map(({ keyId }) => keyId);
  return lost.length === 0 ? undefined : `no status accounts for ${lost.join(", ")}`;
};

/** Keys that neither an ApiKey of their account nor the account lists. Events tell what a deleted object leaves behind. */
function unaccountedKeys(world: SimWorld): readonly KeyRecord[] {
  const objects = apiKeysOf(world);
  const { now } = world.kernel;
  const unmanaged = new Set(
    accountsOf(world).flatMap(({ status }) => status?.unmanagedKeys?.map(({ keyId }) => keyId)),
  );
  const keys = [...world.console.world.keys.values()];
  // A day after its end, a key may leave the lists.
  return keys.filter(({ keyId, description, issueTime, expirationTime }) => {
    if (now >= expirationTime + DAY || unmanaged.has(keyId)) return false;
    const issuer = issuerOf(description);
    const object = objects.find(
      (each) => placeOf(each) === issuer?.key && Date.parse(createdAt(each)) <= issueTime,
    );
    return (
      object !== undefined &&
      !isAccounted(object, keyId, issuer?.attempt ?? "") &&
      !objects.some((peer) => isPeer(peer, object) && listedKeyIds(peer.status).includes(keyId))
    );
  });
}

/** Whether each key that is not accounted for came before all of its account that a status has now. */
export function lacksFirstKeysOnly(world: SimWorld): boolean {
  const { keys } = world.console.world;
  const held = apiKeysOf(world).flatMap(({ status }) =>
    [status?.current, ...(status?.superseded ?? [])].map((key) => keys.get(key?.keyId ?? "")),
  );
  return unaccountedKeys(world).every(
    ({ saId, issueTime }) => !held.some((key) => key?.saId === saId && key.issueTime < issueTime),
  );
}

function createdAt({ metadata }: StoredApiKey): string {
  return metadata.creationTimestamp ?? "";
}

function isAccounted({ status }: StoredApiKey, keyId: string, attempt: string): boolean {
  return (
    status?.current?.keyId === keyId ||
    status?.superseded?.some((each) => each.keyId === keyId) === true ||
    status?.orphaned?.some(
      (each) => each.keyId === keyId || (each.keyId === undefined && each.attemptId === attempt),
    ) === true
  );
}

const issuesAreBounded: EndCheck = ({ world, epochs, allowance }) => {
  const issues = world.console.world.keys.size;
  return issues <= epochs + allowance ? undefined : `${issues} keys, ${epochs + allowance} allowed`;
};

const accountsAreBounded: EndCheck = ({ world, allowance }) => {
  const accounts = [...world.console.world.accounts.values()];
  const objects = new Set(accounts.map(({ description }) => issuerOf(description)?.key));
  const most = Math.max(1, objects.size) + allowance;
  return accounts.length <= most ? undefined : `${accounts.length} service accounts`;
};

/** Written again and again, with something new to say. */
const SCHEDULED = [" leases", " resourcequotaexports/status"];

/** Changes that were tried after a moment, but for those that are to come again and again. */
export function noiseSince({ journal }: SimWorld, since: number): readonly CallRecord[] {
  const first = journal.calls.findLastIndex(({ sentAt }) => sentAt <= since) + 1;
  return journal.calls.slice(first).filter(
    ({ mutating, operation, outcome }) =>
      mutating &&
      // What is refused as invalid is something to do, for a person.
      outcome !== "422" &&
      !SCHEDULED.some((text) => operation.includes(text)),
  );
}

const isQuiet: EndCheck = ({ world, quietSince, picture }) => {
  const noise = noiseSince(world, quietSince);
  const [first] = noise;
  // Once an hour a scheduled check notes when the bindings were last seen to be right.
  const areHourlyNotes = !noise.some(comesEarly) && pictureOf(world) === picture;
  return areHourlyNotes
    ? undefined
    : first && `${first.operation} ${first.target} with nothing to do`;
};

/** Whether the same was written less than an hour before, but for the fraction of a second that no time shows. */
function comesEarly(note: CallRecord, index: number, notes: readonly CallRecord[]): boolean {
  const { operation, target, sentAt } = note;
  const before = notes
    .slice(0, index)
    .findLast((each) => each.operation === operation && each.target === target);
  return before !== undefined && sentAt - before.sentAt < HOUR - SECOND;
}

/** What the operator makes, quota listings left aside: these come anew every few minutes. */
export function isOurs({ custom, type }: ServedKind): boolean {
  return (custom && type.kind !== "ResourceQuotaExport") || type.kind === "Secret";
}

/** Everything of ours that is stored, but for versions and for when bindings were last looked at. */
export function pictureOf(world: SimWorld): string {
  const objects = world.kube.storage.all.filter(({ kind }) => isOurs(kind));
  return JSON.stringify(
    objects.map(({ object }) => object),
    (name, value: unknown) =>
      name === "lastSyncTime" || name === "resourceVersion" ? undefined : value,
  );
}

const secretsAreTidy: EndCheck = ({ world }) => {
  const pending = world.kube.storage.all.find(({ kind, object }) => {
    const { name, namespace } = treeAt(object, "metadata");
    return kind.type.kind === "Secret" && namespace === NAMESPACE && String(name).endsWith("-next");
  });
  return pending && "a pending Secret was left behind";
};

const nothingEscaped: EndCheck = ({ world }) => {
  const [escaped] = world.escaped;
  if (escaped !== undefined) return `the operator failed: ${escaped}`;
  const bug = world.logs.find((line) =>
    /controller failed|failed unexpectedly|listener failed|goes in circles/.test(line),
  );
  return bug?.slice(0, 500);
};

/** What is bound is on record as declared or as foreign, wherever it came from. */
const policiesAreTold: EndCheck = ({ world }) => {
  if (world.hasMeddled || isLockedOut(world)) return undefined;
  const { accounts } = world.console.world;
  const wrong = accountsOf(world).map((account) => {
    const { tpn, bindings } = account.status ?? {};
    const { lastSyncTime, policyCount, unreadable } = bindings ?? {};
    if (tpn === undefined || lastSyncTime === undefined || unreadable === true) return undefined;
    // Nothing is read of an account that is gone.
    if (!accounts.has(account.status?.saId ?? "")) return undefined;
    const bound = world.console.world.boundTo(tpn);
    const named = recordedPolicies(bindings);
    const untold = bound.filter((id) => !named.some((each) => isSpelledLike(each, id)));
    const is = `${placeOf(account)} has ${bound.length} policies`;
    if (untold.length > 0) return `${is}, and its status does not name ${untold.join(", ")}`;
    return policyCount === bound.length ? undefined : `${is}, and its status says ${policyCount}`;
  });
  return wrong.find((what) => what !== undefined);
};

function lastAdviceKeepsKeys({ world }: End): string | undefined {
  return world.kube.storage.all
    .map((stored) => adviceKeepsKeys(world, stored))
    .find((found) => found !== undefined);
}

export const endChecks: Readonly<Record<string, EndCheck>> = {
  "L1 declared state": ({ world, unreached }) => unreached(world),
  "S4 issues": issuesAreBounded,
  "S4 accounts": accountsAreBounded,
  "S5 accounting": everyKeyIsAccounted,
  "S5 keys accounted": keysAccountedFor,
  "S11 told": policiesAreTold,
  "S18 quiescence": isQuiet,
  "pending removed": secretsAreTidy,
  "safe advice": lastAdviceKeepsKeys,
  "no crash": nothingEscaped,
};
