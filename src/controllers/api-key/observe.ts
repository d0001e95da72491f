import type { ApiKey, ApiKeySpec } from "../../api/api-key.ts";
import { isTrue } from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { type ServiceAccount, serviceAccountKind } from "../../api/service-account.ts";
import { keyText, parseKey } from "../../kube/resource.ts";
import { HOUR, type Instant, parseDuration, parseInstant } from "../../util/time.ts";
import { connectionKey } from "../connection-key.ts";
import type { ConsumersView } from "../consumers-board.ts";
import { type ConnectionAccess, type Context, indexes } from "../frame/context.ts";
import { requestToken } from "../frame/request-token.ts";
import type { Waiting } from "../frame/rules/outcome.ts";
import { settleAll } from "../frame/settle-all.ts";
import { provenElsewhere } from "../proven-elsewhere.ts";
import { secretType } from "../resource-types.ts";
import { type ApiKeyRun, nothingRemembered } from "./actions/run.ts";
import { type AttemptRegistry, accountKeyOf, type IssueCoordination } from "./attempts.ts";
import { type IssueLedger, issuesInStatuses } from "./namespace-issues.ts";
import type { ApiKeyIdentity, ApiKeySnapshot, ReadyAccount } from "./rules/snapshot.ts";
import { keyStatusCodec, listedKeyIds } from "./rules/status.ts";
import { type SecretOwner, secretNameOf, stagingName } from "./secret/owner.ts";
import { type SecretView, viewSecret } from "./secret/view.ts";

const PEER_PATIENCE_MS = HOUR;

/**
 * Reads everything a decision needs: the Secrets live, the rest from what the operator already watches and what this
 * process remembers. Rejects where a Secret cannot be read.
 */
export async function observe(
  object: ApiKey,
  spec: ApiKeySpec,
  run: ApiKeyRun,
  coordination: IssueCoordination,
  consumers: ConsumersView,
): Promise<ApiKeySnapshot> {
  const self = identityOf(object);
  const status = keyStatusCodec.decode(object.status);
  const secretName = secretNameOf(self.name, spec);
  const [target, staging, account] = await settleAll([
    readSecret(run, self, secretName, "target", run.signal),
    readSecret(run, self, stagingName(secretName), "staging", run.signal),
    readAccount(run, self, spec.serviceAccountRef.name, coordination.ledger),
  ]);
  const peers = peersOf(object, spec, run);
  // Only to explain an attempt; an account may have a thousand of them.
  const answering = status.attempt === undefined ? [] : peers;
  return {
    ...(run.state ?? nothingRemembered),
    object,
    self,
    spec,
    status,
    account,
    target,
    staging,
    held: coordination.heldPairs.get(self.uid),
    unsettledPeer: unsettledPeerOf(object, peers, coordination, run.clock.now()),
    peerKeyIds: new Set(answering.flatMap((peer) => listedKeyIds(peer.status))),
    peerKeysInUse: answering.flatMap((peer) => keyInUseOf(peer, run.clock.now())),
    consumers: { mode: consumers.mode, known: consumers.of(self.uid) },
  };
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

export async function readSecret(
  { kube }: Pick<Context, "kube">,
  owner: SecretOwner,
  name: string,
  role: "target" | "staging",
  signal: AbortSignal,
): Promise<SecretView> {
  const secret = await kube.get(secretType, { namespace: owner.namespace, name }, { signal });
  return viewSecret(secret, owner, role);
}

function peersOf(
  { metadata: { namespace = "", uid } }: ApiKey,
  { serviceAccountRef }: ApiKeySpec,
  { caches }: Context,
): readonly ApiKey[] {
  return caches.apiKeys
    .byIndex(indexes.serviceAccount, keyText({ namespace, name: serviceAccountRef.name }))
    .filter((peer) => peer.metadata.uid !== uid);
}

/** A peer whose attempt nobody can explain yet. One in the middle of an issue holds the account, and releases it. */
function unsettledPeerOf(
  object: ApiKey,
  peers: readonly ApiKey[],
  { accounts, attempts }: IssueCoordination,
  now: Instant,
): string | undefined {
  const account = accountKeyOf(object);
  const holder = accounts.holderOf(account);
  const issuing = holder === undefined ? undefined : parseKey(holder).name;
  const recorded = peers.filter((peer) => isUnsettled(peer, attempts, now));
  return [
    ...attempts.announcers(account, object.metadata.name),
    ...recorded.map(({ metadata }) => metadata.name),
  ].find((name) => name !== issuing);
}

/** Whether a peer's attempt may still have led to a key that nobody knows. A held-up peer does not block for ever. */
function isUnsettled({ spec, status }: ApiKey, attempts: AttemptRegistry, now: Instant): boolean {
  const { attempt } = status ?? {};
  if (attempt === undefined || attempts.isSettled(attempt.id) || spec.suspend === true)
    return false;
  return now - (parseInstant(attempt.startTime) ?? 0) < PEER_PATIENCE_MS;
}

/** One that is being deleted may have ended its key already. */
function keyInUseOf({ metadata, status }: ApiKey, now: Instant): readonly string[] {
  const { current } = status ?? {};
  if (metadata.deletionTimestamp !== undefined || current?.verificationTime === undefined)
    return [];
  return now < (parseInstant(current.expirationTime) ?? 0) ? [current.keyId] : [];
}

async function readAccount(
  { caches, connections, clock }: Context,
  { namespace, deletingSince }: ApiKeyIdentity,
  name: string,
  ledger: IssueLedger,
): Promise<ReadyAccount | Waiting> {
  const object = caches.serviceAccounts.get({ namespace, name });
  if (object === undefined)
    return waiting(
      "ServiceAccountNotFound",
      `There is no ServiceAccount ${name} in this namespace; create it.`,
    );
  const spec = parseSpec(serviceAccountKind, object);
  // Keys of a deleted ApiKey are ended also while the account is on its way out.
  const usable = deletingSince === undefined ? isUsable(object) : isKnown(object);
  if (!spec.ok || !usable)
    return waiting(
      "ServiceAccountNotReady",
      `ServiceAccount ${name} is not ready; kubectl describe iamsa ${name} says why.`,
    );
  const { connectionRef } = spec.spec;
  const found = await connections.resolve(connectionRef, namespace);
  if (!found.ok) return waiting(found.reason, found.message);
  const elsewhere = provenElsewhere(object, found.access.spec);
  if (elsewhere !== undefined) return waiting("ServiceAccountNotReady", elsewhere);
  const now = clock.now();
  const issued = () =>
    Math.max(
      ledger.count(namespace, now),
      issuesInStatuses(caches, connectionKey(connectionRef, namespace), namespace, now),
    );
  return readyAccount(object, found.access, issued);
}

/** Only a grant takes a person: what else is missing comes with another object, or with time. */
function waiting(reason: string, message: string): Waiting {
  const state = reason === "NotGranted" ? "Stalled" : "Reconciling";
  return { kind: "Waiting", state, reason, message };
}

function readyAccount(
  { status }: ServiceAccount,
  { client, spec: connection, grant }: ConnectionAccess,
  issued: () => number,
): ReadyAccount {
  const { saId = "", tpn = "", orgId, projectId } = status ?? {};
  return {
    kind: "Ready",
    client,
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
    lastKeyListTime: parseInstant(status?.lastKeyListTime),
    callTimeoutMs: parseDuration(connection.limits.timeout) ?? 0,
    maxExpiresInDays: grant.maxExpiresInDays,
    namespaceIssues:
      grant.maxIssuesPerDay === undefined
        ? undefined
        : { most: grant.maxIssuesPerDay, count: issued() },
    canDisableKeys: client.extra.disableKey !== undefined,
    canDeleteKeys: client.extra.deleteKey !== undefined,
  };
}

/** Keys may be issued only for an account that is known, active and not on its way out. */
function isUsable(account: ServiceAccount): boolean {
  const { conditions, state } = account.status ?? {};
  return isTrue(conditions, "Ready") && isKnown(account) && state === "active";
}

function isKnown({ status }: ServiceAccount): boolean {
  return status?.saId !== undefined && status.tpn !== undefined;
}
