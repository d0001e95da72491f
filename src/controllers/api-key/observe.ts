import type { ApiKey, ApiKeySpec } from "../../api/api-key.ts";
import { isTrue } from "../../api/conditions.ts";
import { annotations, FINALIZER } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { type ServiceAccount, serviceAccountKind } from "../../api/service-account.ts";
import type { IamClient } from "../../iam/client/client.ts";
import { keyText, parseKey } from "../../kube/resource.ts";
import { HOUR, type Instant, parseDuration, parseInstant } from "../../util/time.ts";
import type { ConsumersView } from "../consumers-board.ts";
import { type Context, indexes } from "../frame/context.ts";
import { requestToken } from "../frame/request-token.ts";
import { settleAll } from "../frame/settle-all.ts";
import { secretType } from "../resource-types.ts";
import type { AccountTurn } from "./account-turn.ts";
import type { Memory } from "./memory.ts";
import { type AccountView, type Observed, type Self, type State, toState } from "./observed.ts";
import {
  attemptOf,
  type SecretOwner,
  type SecretView,
  secretNameOf,
  stagingName,
  viewSecret,
} from "./secret.ts";

const PEER_PATIENCE_MS = HOUR;

export interface Observation {
  readonly seen: Observed;
  /** The console of the object's service account; absent while the account is not ready. */
  readonly client: IamClient | undefined;
}

/** What this process remembers. */
interface Recollections {
  readonly memory: Memory;
  readonly turn: AccountTurn;
  readonly consumers: ConsumersView;
}

/** Reads everything a decision needs: the Secrets live, the rest from what the operator already watches. */
export async function observe(
  object: ApiKey,
  spec: ApiKeySpec,
  context: Context,
  { memory, turn, consumers }: Recollections,
  signal: AbortSignal,
): Promise<Observation> {
  const self = selfOf(object);
  const state = toState(object.status);
  const [target, staging, { account, client }] = await settleAll([
    readSecret(context, self, secretNameOf(self.name, spec), "target", signal),
    readSecret(context, self, stagingName(secretNameOf(self.name, spec)), "staging", signal),
    readAccount(context, self, spec.serviceAccountRef.name),
  ]);
  noteStaged(state, staging, self, spec, memory);
  startRecovery(state, staging, self, context, memory);
  const { held, recovery, rejection, triedAt, forgotten = [] } = memory.of(self.uid);
  const peers = peersOf(object, spec, context);
  // Only to explain an attempt; an account may have a thousand of them.
  const answering = state.attempt === undefined ? [] : peers;
  return {
    client,
    seen: {
      object,
      self,
      spec,
      state,
      account,
      target,
      staging,
      held,
      recovery,
      rejection,
      triedAt,
      forgotten,
      unsettledPeer: unsettledPeerOf(self, spec, peers, { memory, turn }, context),
      peerKeyIds: new Set(answering.flatMap(keyIdsOf)),
      peerKeysInUse: answering.flatMap((peer) => keyInUseOf(peer, context.clock.now())),
      consumers: { mode: consumers.mode, known: consumers.of(self.uid) },
      hasTurn: false,
    },
  };
}

/** A peer whose attempt nobody can explain yet. One in the middle of an issue has the turn, and passes it on. */
function unsettledPeerOf(
  self: Self,
  spec: ApiKeySpec,
  peers: readonly ApiKey[],
  { memory, turn }: Pick<Recollections, "memory" | "turn">,
  { clock }: Pick<Context, "clock">,
): string | undefined {
  const account = accountKeyOf(self, spec);
  const holder = turn.holderOf(account);
  const issuing = holder === undefined ? undefined : parseKey(holder).name;
  const recorded = peers.filter((peer) => isUnsettled(peer, memory, clock.now()));
  return [
    ...memory.announcers(account, self.name),
    ...recorded.map(({ metadata }) => metadata.name),
  ].find((name) => name !== issuing);
}

function selfOf({ metadata }: ApiKey): Self {
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid,
    deletingSince: parseInstant(metadata.deletionTimestamp),
    hasFinalizer: metadata.finalizers?.includes(FINALIZER) ?? false,
    rotateToken: requestToken(metadata, annotations.rotateRequestedAt),
  };
}

export async function readSecret(
  { kube }: Pick<Context, "kube">,
  owner: SecretOwner,
  name: string,
  role: "target" | "staging",
  signal?: AbortSignal,
): Promise<SecretView> {
  const options = signal === undefined ? {} : { signal };
  const secret = await kube.get(secretType, { namespace: owner.namespace, name }, options);
  return viewSecret(secret, owner, role);
}

/** A pair that is found staged is safe, also where the answer to its write was lost. */
function noteStaged(
  { attempt }: State,
  staging: SecretView,
  self: Self,
  spec: ApiKeySpec,
  memory: Memory,
): void {
  if (staging.kind !== "Ours" || staging.pair === undefined) return;
  const { held } = memory.of(self.uid);
  if (held?.pair.keyId === staging.pair.keyId) memory.update(self.uid, { held: undefined });
  if (attempt !== undefined && attemptOf(staging) === attempt.id)
    memory.settle(accountKeyOf(self, spec), attempt.id);
}

/** From the moment an attempt is first found without its pair, its recovery is under way. */
function startRecovery(
  { attempt }: State,
  staging: SecretView,
  { uid }: Self,
  { clock }: Pick<Context, "clock">,
  memory: Memory,
): void {
  const { recovery, held } = memory.of(uid);
  const unexplained =
    attempt !== undefined && held === undefined && !(staging.kind === "Ours" && staging.pair);
  if (!unexplained) memory.update(uid, { recovery: undefined });
  else if (recovery?.attemptId !== attempt.id)
    memory.update(uid, { recovery: { attemptId: attempt.id, since: clock.monotonic() } });
}

function peersOf(object: ApiKey, spec: ApiKeySpec, { caches }: Context): readonly ApiKey[] {
  const { namespace = "", uid } = object.metadata;
  return caches.apiKeys
    .byIndex(indexes.serviceAccount, keyText({ namespace, name: spec.serviceAccountRef.name }))
    .filter((peer) => peer.metadata.uid !== uid);
}

/** Names the service account among all; what {@link Memory} keeps attempts by. */
export function accountKeyOf(
  { namespace }: Pick<Self, "namespace">,
  spec: Pick<ApiKeySpec, "serviceAccountRef">,
): string {
  return `${namespace}/${spec.serviceAccountRef.name}`;
}

/** Whether a peer's attempt may still have led to a key that nobody knows. A held-up peer does not block for ever. */
function isUnsettled({ spec, status }: ApiKey, memory: Memory, now: Instant): boolean {
  const { attempt } = status ?? {};
  if (attempt === undefined || memory.isSettled(attempt.id) || spec.suspend === true) return false;
  return now - (parseInstant(attempt.startTime) ?? 0) < PEER_PATIENCE_MS;
}

function keyIdsOf({ status }: ApiKey): readonly string[] {
  const { current, superseded = [], orphaned = [] } = status ?? {};
  return [current, ...superseded, ...orphaned]
    .map((key) => key?.keyId)
    .filter((keyId) => keyId !== undefined);
}

/** One that is being deleted may have ended its key already. */
function keyInUseOf({ metadata, status }: ApiKey, now: Instant): readonly string[] {
  const { current } = status ?? {};
  if (metadata.deletionTimestamp !== undefined || current?.verificationTime === undefined)
    return [];
  return now < (parseInstant(current.expirationTime) ?? 0) ? [current.keyId] : [];
}

async function readAccount(
  context: Context,
  { namespace, deletingSince }: Self,
  name: string,
): Promise<{ account: AccountView; client: IamClient | undefined }> {
  const waiting = (reason: string, message: string) => ({
    account: { kind: "Waiting", reason, message } as const,
    client: undefined,
  });
  const object = context.caches.serviceAccounts.get({ namespace, name });
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
  const found = await context.connections.resolve(spec.spec.connectionRef, namespace);
  if (!found.ok) return waiting(found.reason, found.message);
  const { client, spec: connection, grant } = found.access;
  const { saId = "", tpn = "", orgId, projectId } = object.status ?? {};
  return {
    client,
    account: {
      kind: "Ready",
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
      liveKeyIds: object.status?.liveKeyIds,
      lastKeyListTime: parseInstant(object.status?.lastKeyListTime),
      callTimeoutMs: parseDuration(connection.limits.timeout) ?? 0,
      maxExpiresInDays: grant.maxExpiresInDays,
      canDisableKeys: client.extra.disableKey !== undefined,
      canDeleteKeys: client.extra.deleteKey !== undefined,
    },
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
