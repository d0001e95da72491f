import type { Creator } from "../../accounts/creator-mismatch.ts";
import { movesTo } from "../../accounts/key-accounts.ts";
import { isReconciled } from "../../accounts/new-account.ts";
import { boundToOtherConsole } from "../../accounts/other-console.ts";
import { isUsable, ownsAccount } from "../../accounts/ownership.ts";
import { accountInUse as accountInUseOf } from "../../api/account-in-use.ts";
import type { ApiKey, ApiKeySpec } from "../../api/api-key.ts";
import { findCondition } from "../../api/conditions.ts";
import type { ConnectionSpec } from "../../api/connection.ts";
import { annotations } from "../../api/meta.ts";
import { parseStoredSpec } from "../../api/parse-spec.ts";
import { isPlanOnly } from "../../api/plan-only.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import { type ServiceAccount, serviceAccountKind } from "../../api/service-account.ts";
import { connectionKey } from "../../connections/connection-key.ts";
import type { ConsumersView } from "../../consumers/board.ts";
import { keyText, type ObjectKey } from "../../kube/resource.ts";
import { readTimes } from "../../reconciler/clock-reading.ts";
import type { ConnectionAccess } from "../../reconciler/context.ts";
import type { Waiting } from "../../reconciler/rules/outcome.ts";
import { PartialFailure } from "../../reconciler/rules/partial-failure.ts";
import { requestToken } from "../../reconciler/rules/request.ts";
import { reconciling } from "../../reconciler/rules/waiting.ts";
import { settleAll } from "../../reconciler/settle-all.ts";
import { indexes } from "../../resources/indexes.ts";
import { policyBindingType, serviceAccountType } from "../../resources/resource-types.ts";
import { type AgreedTime, correctedTime, readTime } from "../../util/agreed-time.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { type Instant, MINUTE, parseDuration, parseInstant } from "../../util/time.ts";
import { explanationOf, lateKeysOf } from "./account-records.ts";
import type { IssueCoordination } from "./coordination.ts";
import type { NamespaceIssues, NamespaceUsage } from "./namespace-issues.ts";
import { type KnownOfKey, listedSecrets, readSecret, secretKeyOf } from "./read-secret.ts";
import { accountOf, isOfSpec, withKnownAccounts } from "./rules/accounts.ts";
import { withCorrectedTimes } from "./rules/corrected-times.ts";
import { withReported } from "./rules/reported-refusal.ts";
import { withoutReserved } from "./rules/reserved-metadata.ts";
import {
  type ApiKeyIdentity,
  type ApiKeyMemory,
  type ApiKeyReading,
  type ApiKeySnapshot,
  nothingRemembered,
  type ReadyAccount,
} from "./rules/snapshot.ts";
import { type KeyStatus, keyStatusCodec } from "./rules/status.ts";
import {
  deletedAccount,
  inactiveAccount,
  type KeyList,
  type UnusableAccount,
} from "./rules/unusable-account.ts";
import type { KeyAccount } from "./secret/pair.ts";
import { pairIn } from "./secret/view.ts";
import { otherClaimOn } from "./secret-claims.ts";

/** Longer than the operator needs for a thousand new accounts. */
const NEW_ACCOUNT_MS = 2 * MINUTE;

/**
 * Reads everything that a decision needs. Reads the Secrets live unless the watch shows enough about them. The rest
 * comes from watched objects and the memory of this process. Rejects with a PartialFailure if a Secret cannot be read.
 */
export async function observe(
  object: ApiKey,
  spec: ApiKeySpec,
  run: ApiKeyReading,
  coordination: IssueCoordination,
  consumers: ConsumersView,
): Promise<ApiKeySnapshot> {
  const self = identityOf(object);
  const { name } = spec.serviceAccountRef;
  const account = await readAccount(run, self, name, coordination.namespaceIssues);
  const decoded = withMemory(keyStatusCodec.decode(object.status), run.state);
  const stored = account.kind === "Ready" ? withKnownAccounts(decoded, account, name) : decoded;
  const held = coordination.heldPairs.get(self.uid);
  const { resourceVersion } = object.status?.content ?? {};
  const { secrets, error } = await observeSecrets(run, self, spec, {
    status: stored,
    held,
    resourceVersion,
  }).then(
    (found) => ({ secrets: found, error: undefined }),
    (cause: unknown) => ({ secrets: unreadSecrets(stored), error: cause }),
  );
  const pairs = [held?.pair, pairIn(secrets.target), pairIn(secrets.pending)];
  const keys = [stored.current, stored.attempt, ...stored.superseded, ...stored.orphaned];
  const accounts = { account, spec };
  const otherAccounts = await readOtherAccounts([...keys, ...pairs], accounts, self, run);
  const inUse = accountOf(stored.current, { ...accounts, otherAccounts });
  const ready = [account, inUse].filter((each) => each.kind === "Ready");
  const snapshot: ApiKeySnapshot = {
    ...(run.state ?? nothingRemembered),
    object,
    self,
    ...withoutReserved(spec, ready),
    // The console's clock is known only if an account is ready.
    status: ready.length > 0 ? withCorrectedTimes(stored, readTime(run.clock)) : stored,
    account,
    otherAccounts,
    missingPermissions: movesTo(object, name)
      ? missingPermissions(self, name, object, run)
      : undefined,
    ...secrets,
    otherClaim: otherClaimOn(object, run.caches),
    held,
    lateKeys: lateKeysOf(object, run),
    explanation: await explanationOf(object, run),
    consumers: { mode: consumers.mode, known: consumers.of(self.uid) },
    isPlanned: run.readOnly === true || isPlanOnly(object),
    secretsAreWatched: run.caches.secrets.isWatched,
  };
  if (error !== undefined) throw new PartialFailure(snapshot, error);
  const isNew = run.isPlan && run.state === undefined;
  return isNew ? withReported(snapshot, readTimes(run.clock)) : snapshot;
}

/** What the status says of them is all that is known. */
function unreadSecrets({ current }: KeyStatus): ObservedSecrets {
  const unread = { kind: "Unread", keyId: current?.keyId ?? "", previousKeyId: undefined } as const;
  return { target: unread, pending: unread };
}

type ObservedSecrets = Pick<ApiKeySnapshot, "target" | "pending">;

/** The response to an open attempt is remembered until a status write has stored it. */
function withMemory(status: KeyStatus, state: ApiKeyMemory | undefined): KeyStatus {
  const unreadableResponse = state?.unreadableResponse;
  return unreadableResponse !== undefined && unreadableResponse.attemptId === status.attempt?.id
    ? { ...status, unreadableResponse }
    : status;
}

function identityOf({ metadata }: ApiKey): ApiKeyIdentity {
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid,
    deletingSince: parseInstant(metadata.deletionTimestamp),
    rotateToken: requestToken(metadata, annotations.rotateRequestedAt),
  };
}

/** Uses the watch if it shows enough; otherwise reads the Secrets live. */
async function observeSecrets(
  run: ApiKeyReading,
  self: ApiKeyIdentity,
  spec: ApiKeySpec,
  known: KnownOfKey,
): Promise<ObservedSecrets> {
  const keys = {
    target: secretKeyOf(self, spec, "target"),
    pending: secretKeyOf(self, spec, "pending"),
  };
  const listed = self.deletingSince === undefined ? listedSecrets(run, keys, known) : undefined;
  if (listed !== undefined) return listed;
  const [target, pending] = await settleAll([
    readSecret(run, self, spec, "target", run.signal, known.status.current?.keyId),
    readSecret(run, self, spec, "pending", run.signal),
  ]);
  return { target, pending };
}

/** By saId: the accounts of keys that do not belong to the account of the spec. */
async function readOtherAccounts(
  keys: readonly (KeyAccount | undefined)[],
  of: Pick<ApiKeySnapshot, "account" | "spec">,
  self: ApiKeyIdentity,
  run: ApiKeyReading,
): Promise<ReadonlyMap<string, ReadyAccount | UnusableAccount>> {
  const others = new Map<string, ReadyAccount | UnusableAccount>();
  for (const { serviceAccount: name, saId } of keys.filter((key) => key !== undefined)) {
    if (name === undefined || saId === undefined || others.has(saId)) continue;
    if (isOfSpec({ serviceAccount: name, saId }, of)) continue;
    const account = await readOtherAccount({ namespace: self.namespace, name }, saId, self, run);
    if (account !== undefined) others.set(saId, account);
  }
  return others;
}

/** `undefined` if another account has taken the place of the key's account. */
async function readOtherAccount(
  key: ObjectKey,
  saId: string,
  { deletingSince }: ApiKeyIdentity,
  run: ApiKeyReading,
): Promise<ReadyAccount | UnusableAccount | undefined> {
  const object = run.caches.of(serviceAccountType).get(key);
  if (object?.status?.saId !== saId) return undefined;
  const ended = deletingSince === undefined ? endedAccount(object) : undefined;
  return ended ?? readUsable(run, object, isKnown(object));
}

async function readAccount(
  run: ApiKeyReading,
  { namespace, deletingSince }: ApiKeyIdentity,
  name: string,
  issues: NamespaceIssues,
): Promise<ReadyAccount | UnusableAccount> {
  const object = run.caches.of(serviceAccountType).get({ namespace, name });
  if (object === undefined)
    return reconciling(
      "ServiceAccountNotFound",
      `ServiceAccount ${name} does not exist in this namespace; create it.`,
    );
  // The keys of a deleted ApiKey are revoked even while the account is being deleted.
  const usable = deletingSince === undefined ? takesKeys(object) : isKnown(object);
  const ended = usable ? undefined : endedAccount(object);
  return ended ?? readUsable(run, object, usable, issues);
}

/** Only the account for which keys are issued needs the issues of its namespace. */
async function readUsable(
  { connections, clock }: ApiKeyReading,
  object: ServiceAccount,
  usable: boolean,
  issues?: NamespaceIssues,
): Promise<ReadyAccount | UnusableAccount> {
  const { name, namespace = "" } = object.metadata;
  const spec = parseStoredSpec(serviceAccountKind, object);
  const list = keyListOf(object, readTime(clock));
  if (!spec.ok || !usable)
    return {
      ...list,
      ...reconciling(
        "ServiceAccountNotReady",
        `ServiceAccount ${name} is not ready: check its Ready condition with kubectl describe iamsa ${name}.`,
      ),
      ...(isReconciled(object) ? {} : briefly(object, clock.now())),
    };
  const { connectionRef } = spec.spec;
  const found = await connections.resolve(connectionRef, namespace);
  if (!found.ok) return { ...list, ...found.waiting, canEndKeys: canEndKeys(found.spec) };
  const elsewhere = boundToOtherConsole(object, found.access.spec);
  if (elsewhere !== undefined)
    return { ...list, ...reconciling("ServiceAccountNotReady", elsewhere) };
  const connection = connectionKey(connectionRef, namespace);
  const at = readTime(clock);
  const usage = issues && ((most: number) => issues.usage(connection, namespace, most, at));
  return { ...readyAccount(object, found.access, at, usage), connection };
}

function canEndKeys(connection: ConnectionSpec | undefined): boolean {
  const { disableKey, deleteKey } = connection?.extraCalls ?? {};
  return disableKey !== undefined || deleteKey !== undefined;
}

function readyAccount(
  object: ServiceAccount,
  { session, extraCalls, spec: connection, grant }: ConnectionAccess,
  at: AgreedTime,
  usage: ((most: number) => NamespaceUsage) | undefined,
): Omit<ReadyAccount, "connection"> {
  const { status } = object;
  const { saId = "", tpn = "", orgId, projectId } = status ?? {};
  return {
    kind: "Ready",
    connectionSpec: connection,
    session,
    saId,
    creator: creatorOf(object),
    values: {
      saId,
      tpn,
      orgId: orgId ?? connection.orgId,
      projectId: projectId ?? connection.projectId ?? "",
      baseURL: connection.baseURL,
      domainId: connection.domainId ?? connection.orgId,
      domainName: connection.domainName,
      partitionId: connection.partitionId ?? "",
    },
    ...keyListOf(object, at),
    listsKeyStates: status?.listsKeyStates === true,
    callTimeoutMs: parseDuration(connection.limits.timeout) ?? 0,
    maxExpiresInDays: grant.maxExpiresInDays,
    allowedSecretMetadata: connection.allowedSecretMetadata,
    namespaceIssues:
      grant.maxIssuesPerDay === undefined ? undefined : usage?.(grant.maxIssuesPerDay),
    canDisableKeys: extraCalls.has("disableKey"),
    canDeleteKeys: extraCalls.has("deleteKey"),
  };
}

function creatorOf({ metadata, spec, status }: ServiceAccount): Creator | undefined {
  if (spec.saId !== undefined) return undefined;
  const { name, namespace = "", uid } = metadata;
  return { key: { namespace, name }, uid, name: spec.name ?? status?.name };
}

function keyListOf({ status }: ServiceAccount, at: AgreedTime): KeyList {
  return {
    liveKeyIds: status?.liveKeyIds,
    inactiveKeyIds: status?.inactiveKeyIds,
    lastKeyListTime: correctedTime(parseInstant(status?.lastKeyListTime), at),
    listsKeys: status?.keyCount !== undefined,
    isGone: status?.ownership === "Gone",
  };
}

/** Why consumers would lose permissions by a key of the ServiceAccount, as far as its status and PolicyBindings show. */
function missingPermissions(
  { namespace }: ApiKeyIdentity,
  name: string,
  apiKey: ApiKey,
  { caches }: Pick<ApiKeyReading, "caches">,
): string | undefined {
  const accounts = caches.of(serviceAccountType);
  const account = accounts.get({ namespace, name });
  if (account?.spec.access === "Revoked") return "its spec.access is Revoked";
  const bindings = caches
    .of(policyBindingType)
    .byIndex(indexes.serviceAccount, keyText({ namespace, name }))
    .filter((each) => !isBeingDeleted(each));
  const unbound = bindings.find((binding) => !isBound(binding));
  if (unbound !== undefined) return `its PolicyBinding ${unbound.metadata.name} is not ready`;
  const former = accounts.get({ namespace, name: accountInUseOf(apiKey) ?? name });
  const isRevoked = former?.spec.access === "Revoked";
  return !isRevoked && countPolicies(former) > 0 && countPolicies(account) === 0
    ? `no policy is bound to it; create PolicyBindings like those of ServiceAccount ${former?.metadata.name}`
    : undefined;
}

function isBound({ metadata, status }: PolicyBinding): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  return ready?.status === "True" && ready.observedGeneration === metadata.generation;
}

/** The count is absent if the console no longer has the account; the record remains. */
function countPolicies(account: ServiceAccount | undefined): number {
  const { policies, policyCount } = account?.status?.bindings ?? {};
  return policyCount ?? policies?.length ?? 0;
}

/**
 * Users apply an account together with its ApiKeys. A new account is reconciled first; then its ApiKeys are enqueued.
 */
function briefly({ metadata }: ServiceAccount, now: Instant): Partial<Waiting> {
  const age = Math.abs(now - (parseInstant(metadata.creationTimestamp) ?? 0));
  return age < NEW_ACCOUNT_MS ? { deferFirstStatus: true, afterMs: NEW_ACCOUNT_MS - age } : {};
}

/** Why no key of the account works, if the console's last answer about the account shows that. */
function endedAccount(account: ServiceAccount): UnusableAccount | undefined {
  const { saId = "", ownership, state } = account.status ?? {};
  if (ownership === "Gone") return deletedAccount(saId);
  const isInactive = ownsAccount(account) && state !== undefined && state !== "active";
  return isInactive ? inactiveAccount(saId, state) : undefined;
}

/** Keys may be issued only for an account that is usable, known and active. */
function takesKeys(account: ServiceAccount): boolean {
  return isUsable(account) && isKnown(account) && account.status?.state === "active";
}

function isKnown({ status }: ServiceAccount): boolean {
  return status?.saId !== undefined && status.tpn !== undefined;
}
