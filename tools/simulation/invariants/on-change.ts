/** What must hold of every single change of a stored object. Each answers what is wrong, if anything. */
import { FINALIZER, labels } from "../../../src/api/meta.ts";
import { listedKeyIds } from "../../../src/kinds/api-key/rules/status.ts";
import type { Secret } from "../../../src/kube/resource-types.ts";
import { parseInstant } from "../../../src/util/time.ts";
import type { Change } from "../../api-server/storage.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import type { SimWorld } from "../sim-world.ts";
import { adviceKeepsKeys } from "./safe-advice.ts";
import {
  apiKeysOf,
  asApiKey,
  asSecret,
  conditionsOf,
  isOurs,
  isTarget,
  keyIdsIn,
  pairOf,
  placeOf,
  type StoredApiKey,
  secretsOf,
} from "./view.ts";

export interface ChangeSeen {
  readonly world: SimWorld;
  readonly change: Change;
  readonly byOperator: boolean;
  /** Key ids that some Secret has held by now. */
  readonly delivered: ReadonlySet<string>;
}

export type ChangeCheck = (seen: ChangeSeen) => string | undefined;

function writtenSecret({ change, byOperator }: ChangeSeen) {
  const isWrite = byOperator && change.kind.type.kind === "Secret" && change.type !== "DELETED";
  return isWrite ? asSecret(change.object) : undefined;
}

function changedApiKey({ change }: ChangeSeen) {
  return change.kind.type.kind === "ApiKey" && change.type === "MODIFIED"
    ? { old: asApiKey(change.previous ?? {}), now: asApiKey(change.object) }
    : undefined;
}

const pairIsOfOneAnswer: ChangeCheck = (seen) => {
  const secret = writtenSecret(seen);
  if (secret === undefined || !isTarget(secret)) return undefined;
  const pair = pairOf(secret);
  if (pair !== undefined && seen.world.console.world.isPair(pair.keyId, pair.secret))
    return undefined;
  return `Secret ${placeOf(secret)} holds no pair of one answer`;
};

const statusFollowsSecret: ChangeCheck = (seen) => {
  const changed = changedApiKey(seen);
  const keyId = changed?.now.status?.current?.keyId;
  if (keyId === undefined || seen.delivered.has(keyId)) return undefined;
  return `status says ${keyId} is current, but no Secret has held it`;
};

const readyIsVerified: ChangeCheck = (seen) => {
  const changed = changedApiKey(seen);
  if (changed === undefined || !seen.byOperator) return undefined;
  const { status } = changed.now;
  const isReady = status?.conditions?.some(
    ({ type, status: is }) => type === "Ready" && is === "True",
  );
  if (!isReady || status?.current?.verificationTime !== undefined) return undefined;
  return `${placeOf(changed.now)} is Ready with a key that was never verified`;
};

/**
 * A list of keys does not say whose a key is: a lost one may be listed by another ApiKey of the account. One that
 * somebody else has, or answers for, may not.
 */
const orphansAreLost: ChangeCheck = (seen) => {
  const changed = changedApiKey(seen);
  if (changed === undefined || !seen.byOperator) return undefined;
  const place = placeOf(changed.now);
  const wrong = changed.now.status?.orphaned?.find(
    ({ keyId }) => keyId !== undefined && isOfAnother(seen.world, keyId, changed.now),
  );
  return wrong && `${place} lists ${wrong.keyId} as lost, which another object has`;
};

function isOfAnother(world: SimWorld, keyId: string, apiKey: StoredApiKey): boolean {
  const others = apiKeysOf(world).filter(({ metadata }) => metadata.uid !== apiKey.metadata.uid);
  const isTheirs = ({ metadata }: Secret) =>
    others.some(({ metadata: { uid } }) =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid),
    );
  const kept = secretsOf(world).filter(isTheirs).flatMap(keyIdsIn);
  return [...kept, ...others.flatMap(({ status }) => listedKeyIds(status))].includes(keyId);
}

const secretIsOurs: ChangeCheck = (seen) => {
  const secret = writtenSecret(seen);
  if (secret === undefined) return undefined;
  const { previous } = seen.change;
  if (previous !== undefined && !isOurs(asSecret(previous)) && !isOffered(seen, asSecret(previous)))
    return `wrote to the foreign Secret ${placeOf(secret)}`;
  if (!isOurs(secret)) return `wrote the Secret ${placeOf(secret)} without a label of ours`;
  const wanted = typeFor(seen.world, secret);
  return wanted === undefined || secret.type === wanted
    ? undefined
    : `wrote a Secret of type ${secret.type}, not ${wanted}`;
};

/** `undefined` for a target whose ApiKey has gone. */
function typeFor(world: SimWorld, secret: Secret): string | undefined {
  if (!isTarget(secret)) return "Opaque";
  const apiKey = apiKeysOf(world).find(({ metadata }) => placeOf({ metadata }) === placeOf(secret));
  return apiKey && (apiKey.spec.secret?.type ?? "Opaque");
}

/** Whether both sides agree to an adoption: `onExisting: Adopt`, and the label of the stored Secret. */
function isOffered({ world }: ChangeSeen, secret: Secret): boolean {
  return apiKeysOf(world).some(
    ({ metadata, spec }) =>
      spec.secret?.onExisting === "Adopt" &&
      placeOf({ metadata }) === placeOf(secret) &&
      secret.metadata.labels?.[labels.apiKey] === metadata.name,
  );
}

const secretStaysAtHome: ChangeCheck = (seen) => {
  const secret = writtenSecret(seen);
  const owner = secret?.metadata.ownerReferences?.[0];
  if (secret === undefined || owner === undefined) return undefined;
  const found = seen.world.kube.storage.all.find(
    ({ object }) => treeAt(object, "metadata").uid === owner.uid,
  );
  const home = found && treeAt(found.object, "metadata").namespace;
  return home === undefined || home === secret.metadata.namespace
    ? undefined
    : `wrote a Secret of ${String(home)} into ${secret.metadata.namespace}`;
};

const foreignSecretStays: ChangeCheck = ({ change, byOperator }) => {
  if (!byOperator || change.kind.type.kind !== "Secret" || change.type !== "DELETED")
    return undefined;
  const secret = asSecret(change.object);
  return isOurs(secret) ? undefined : `deleted the foreign Secret ${placeOf(secret)}`;
};

/** An ApiKey takes its Secrets with it; what stays for the garbage collector shows consumers a pair that nobody keeps. */
const secretsGoFirst: ChangeCheck = ({ world, change, byOperator }) => {
  const { previous, object, kind, type } = change;
  if (!byOperator || kind.type.kind !== "ApiKey" || previous === undefined) return undefined;
  const isHeldNow = type !== "DELETED" && hasFinalizer(object);
  if (!hasFinalizer(previous) || isHeldNow) return undefined;
  const { metadata, spec } = asApiKey(previous);
  const mayStay = (secret: Secret) =>
    isTarget(secret) && (spec.secret?.deletionPolicy === "Retain" || secret.immutable === true);
  const left = secretsOf(world).find(
    (secret) =>
      secret.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) && !mayStay(secret),
  );
  return left && `${metadata.name} went before its Secret ${placeOf(left)}`;
};

function hasFinalizer(object: Tree): boolean {
  const { finalizers } = treeAt(object, "metadata");
  return Array.isArray(finalizers) && finalizers.includes(FINALIZER);
}

const observedGenerationRises: ChangeCheck = (seen) => {
  const changed = changedApiKey(seen);
  if (changed === undefined || !seen.byOperator) return undefined;
  const before = changed.old.status?.observedGeneration ?? 0;
  const after = changed.now.status?.observedGeneration ?? 0;
  return after < before ? `observedGeneration fell from ${before} to ${after}` : undefined;
};

const revisionRises: ChangeCheck = (seen) => {
  const changed = changedApiKey(seen);
  if (changed === undefined || !seen.byOperator) return undefined;
  const before = changed.old.status?.current?.revision ?? 0;
  const after = changed.now.status?.current?.revision ?? before;
  return after < before ? `revision fell from ${before} to ${after}` : undefined;
};

const timesOfKeyStay: ChangeCheck = (seen) => {
  const changed = changedApiKey(seen);
  const old = changed?.old.status?.current;
  const now = changed?.now.status?.current;
  if (old === undefined || now === undefined || old.keyId !== now.keyId) return undefined;
  return old.issueTime === now.issueTime && old.expirationTime === now.expirationTime
    ? undefined
    : `issueTime or expirationTime of ${now.keyId} changed`;
};

const transitionsAreReal: ChangeCheck = ({ world, change, byOperator }) => {
  if (!byOperator || change.previous === undefined) return undefined;
  const before = conditionsOf(change.previous);
  const wrong = conditionsOf(change.object).find((now) => {
    const old = before.find(({ type }) => type === now.type);
    if (old?.status !== now.status || old.lastTransitionTime === now.lastTransitionTime)
      return false;
    // What a wrong clock has stored is corrected.
    return (parseInstant(old.lastTransitionTime) ?? 0) <= world.kernel.now;
  });
  return wrong && `lastTransitionTime of ${wrong.type} moved, its status did not`;
};

/** [S8] What arrives late is refused if the object has changed since it was sent. */
const lateWritesAreRefused: ChangeCheck = ({ world, change, byOperator }) => {
  if (!byOperator || change.previous === undefined) return undefined;
  const late = world.journal.putOff(world.kernel.elapsed);
  if (late?.server !== "kube") return undefined;
  const written = Number(treeAt(change.previous, "metadata").resourceVersion);
  return written > late.sentRevision
    ? `${late.operation} ${late.target} arrived late and overwrote a later change`
    : undefined;
};

/** "1 of 3 Pods" is none. */
const PLURAL_OF_ONE = /\b(?<!of )1 (keys|policies|accounts|objects|Pods|workloads)\b/;

/** Sentences for people: they begin and end like ones, though a field may be the first word, and show nothing that only programmers understand and no plural of one. */
const messagesAreSentences: ChangeCheck = ({ change, byOperator }) => {
  if (!byOperator) return undefined;
  const messages = conditionsOf(change.object).map(({ message }) => message ?? "");
  const wrong = messages.find((text) => text !== "" && !isReadable(text));
  return wrong && `a condition says ${JSON.stringify(wrong)}`;
};

function isReadable(text: string): boolean {
  const isSentence = /^([A-Z\d]|spec\.).*[.)]$/s.test(text);
  return isSentence && !/undefined|\[object|\.\./.test(text) && !PLURAL_OF_ONE.test(text);
}

export const changeChecks: Readonly<Record<string, ChangeCheck>> = {
  "S1 pair": pairIsOfOneAnswer,
  "S6 lost once": orphansAreLost,
  "S7 order": statusFollowsSecret,
  "S7 verified": readyIsVerified,
  "S8 late write": lateWritesAreRefused,
  "S9 ownership": secretIsOurs,
  "S9 deletion": foreignSecretStays,
  "S9 nothing left": secretsGoFirst,
  "S15 tenancy": secretStaysAtHome,
  "S16 generation": observedGenerationRises,
  "S16 revision": revisionRises,
  "S16 key times": timesOfKeyStay,
  "S16 transitions": transitionsAreReal,
  "readable message": messagesAreSentences,
  "safe advice": ({ world, change, byOperator }) =>
    byOperator ? adviceKeepsKeys(world, change) : undefined,
};
