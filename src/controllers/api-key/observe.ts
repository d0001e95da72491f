import type { ApiKey, ApiKeySpec } from "../../api/api-key.ts";
import { annotations } from "../../api/meta.ts";
import { parseStoredSpec } from "../../api/parse-spec.ts";
import { type ServiceAccount, serviceAccountKind } from "../../api/service-account.ts";
import { type AgreedTime, correctedTime, readTime } from "../../util/agreed-time.ts";
import { type Instant, MINUTE, parseDuration, parseInstant } from "../../util/time.ts";
import { isUsable, whyKeysFail } from "../account-standing.ts";
import { connectionKey } from "../connection-key.ts";
import type { ConsumersView } from "../consumers-board.ts";
import type { ConnectionAccess } from "../frame/context.ts";
import type { Waiting } from "../frame/rules/outcome.ts";
import { PartialFailure } from "../frame/rules/outcome.ts";
import { requestToken } from "../frame/rules/request.ts";
import { reconciling } from "../frame/rules/waiting.ts";
import { settleAll } from "../frame/settle-all.ts";
import { hasHadItsTurn } from "../new-account.ts";
import { provenElsewhere } from "../proven-elsewhere.ts";
import { serviceAccountType } from "../resource-types.ts";
import type { IssueCoordination } from "./attempts.ts";
import type { NamespaceIssues } from "./namespace-issues.ts";
import { lateKeysOf, unsettledPeerOf } from "./peers.ts";
import { type KnownOfKey, listedSecrets, readSecret, secretKeyOf } from "./read-secret.ts";
import { withCorrectedTimes } from "./rules/corrected-times.ts";
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
import { deletedAccount, inactiveAccount, type UnusableAccount } from "./rules/unusable-account.ts";
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
  const stored = withMemory(keyStatusCodec.decode(object.status), run.state);
  const held = coordination.heldPairs.get(self.uid);
  const account = await readAccount(
    run,
    self,
    spec.serviceAccountRef.name,
    coordination.namespaceIssues,
  );
  const snapshotWith = (secrets: ObservedSecrets): ApiKeySnapshot => ({
    ...(run.state ?? nothingRemembered),
    object,
    self,
    ...(account.kind === "Ready" ? withoutReserved(spec, account) : { spec }),
    // The console's clock is known only if the account is ready.
    status: account.kind === "Ready" ? withCorrectedTimes(stored, readTime(run.clock)) : stored,
    account,
    ...secrets,
    otherClaim: otherClaimOn(object, run.caches),
    held,
    lateKeys: lateKeysOf(object, spec, run),
    unsettledPeer: unsettledPeerOf(object, spec, run, coordination.attempts),
    consumers: { mode: consumers.mode, known: consumers.of(self.uid) },
    isPlanned: run.isPlan,
    secretsAreWatched: run.caches.secrets.isWatched,
  });
  const known = { status: stored, held, resourceVersion: object.status?.content?.resourceVersion };
  try {
    return snapshotWith(await observeSecrets(run, self, spec, known));
  } catch (error) {
    // What the status says of them is all that is known.
    const keyId = stored.current?.keyId ?? "";
    const unread = { kind: "Unread", keyId, previousKeyId: undefined } as const;
    const snapshot = snapshotWith({ target: unread, staging: unread });
    throw new PartialFailure({ snapshot, done: {} }, error);
  }
}

type ObservedSecrets = Pick<ApiKeySnapshot, "target" | "staging">;

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
    staging: secretKeyOf(self, spec, "staging"),
  };
  const listed = self.deletingSince === undefined ? listedSecrets(run, keys, known) : undefined;
  if (listed !== undefined) return listed;
  const [target, staging] = await settleAll([
    readSecret(run, self, spec, "target", run.signal),
    readSecret(run, self, spec, "staging", run.signal),
  ]);
  return { target, staging };
}

async function readAccount(
  { caches, connections, clock }: ApiKeyReading,
  { namespace, deletingSince }: ApiKeyIdentity,
  name: string,
  issues: NamespaceIssues,
): Promise<ReadyAccount | UnusableAccount> {
  const object = caches.of(serviceAccountType).get({ namespace, name });
  if (object === undefined)
    return reconciling(
      "ServiceAccountNotFound",
      `ServiceAccount ${name} does not exist in this namespace; create it.`,
    );
  const spec = parseStoredSpec(serviceAccountKind, object);
  // The keys of a deleted ApiKey are revoked even while the account is being deleted.
  const usable = deletingSince === undefined ? takesKeys(object) : isKnown(object);
  const ended = usable ? undefined : endedAccount(object);
  if (ended !== undefined) return ended;
  if (!spec.ok || !usable)
    return {
      ...reconciling(
        "ServiceAccountNotReady",
        `ServiceAccount ${name} is not ready: check its Ready condition with kubectl describe iamsa ${name}.`,
      ),
      ...(hasHadItsTurn(object) ? {} : briefly(object, clock.now())),
    };
  const { connectionRef } = spec.spec;
  const found = await connections.resolve(connectionRef, namespace);
  if (!found.ok) return found.waiting;
  const elsewhere = provenElsewhere(object, found.access.spec);
  if (elsewhere !== undefined) return reconciling("ServiceAccountNotReady", elsewhere);
  const connection = connectionKey(connectionRef, namespace);
  const at = readTime(clock);
  const issued = () => issues.count(connection, namespace, at);
  return { ...readyAccount(object, found.access, at, issued), connection };
}

function readyAccount(
  { status }: ServiceAccount,
  { session, extraCalls, spec: connection, grant }: ConnectionAccess,
  at: AgreedTime,
  issued: () => number,
): Omit<ReadyAccount, "connection"> {
  const { saId = "", tpn = "", orgId, projectId } = status ?? {};
  return {
    kind: "Ready",
    connectionSpec: connection,
    session,
    saId,
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
    liveKeyIds: status?.liveKeyIds,
    inactiveKeyIds: status?.inactiveKeyIds,
    listsKeyStates: status?.listsKeyStates === true,
    lastKeyListTime: correctedTime(parseInstant(status?.lastKeyListTime), at),
    callTimeoutMs: parseDuration(connection.limits.timeout) ?? 0,
    maxExpiresInDays: grant.maxExpiresInDays,
    allowedSecretMetadata: connection.allowedSecretMetadata,
    namespaceIssues:
      grant.maxIssuesPerDay === undefined
        ? undefined
        : { most: grant.maxIssuesPerDay, count: issued() },
    canDisableKeys: extraCalls.has("disableKey"),
    canDeleteKeys: extraCalls.has("deleteKey"),
  };
}

/**
 * Users apply an account together with its ApiKeys. A new account is reconciled first; then its ApiKeys are enqueued.
 */
function briefly({ metadata }: ServiceAccount, now: Instant): Partial<Waiting> {
  const age = Math.abs(now - (parseInstant(metadata.creationTimestamp) ?? 0));
  return age < NEW_ACCOUNT_MS ? { isBrief: true, afterMs: NEW_ACCOUNT_MS - age } : {};
}

function endedAccount(account: ServiceAccount): UnusableAccount | undefined {
  const { saId = "", state } = account.status ?? {};
  const why = whyKeysFail(account);
  if (why === undefined) return undefined;
  return why === "Gone" ? deletedAccount(saId) : inactiveAccount(saId, state);
}

/** Keys may be issued only for an account that is usable, known and active. */
function takesKeys(account: ServiceAccount): boolean {
  return isUsable(account) && isKnown(account) && account.status?.state === "active";
}

function isKnown({ status }: ServiceAccount): boolean {
  return status?.saId !== undefined && status.tpn !== undefined;
}
