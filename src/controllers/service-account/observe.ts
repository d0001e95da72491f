import { annotations } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import {
  type ServiceAccount,
  type ServiceAccountSpec,
  serviceAccountKind,
} from "../../api/service-account.ts";
import { type IamErrorCode, isIamError } from "../../iam/errors.ts";
import type { IamServiceAccount } from "../../iam/model.ts";
import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import { type Instant, parseInstant } from "../../util/time.ts";
import {
  type ConnectionAccess,
  type ConnectionLookup,
  type Context,
  indexes,
} from "../frame/context.ts";
import { hasFinalizer } from "../frame/finalizers.ts";
import { requestToken } from "../frame/request-token.ts";
import { type Account, fromStatus } from "./account.ts";
import { refOf } from "./find-winner.ts";
import type { Memory } from "./memory.ts";

/** What an object asks for; while it is being deleted, as much of it as can be read. */
export type Wish =
  | { readonly ok: true; readonly spec: ServiceAccountSpec }
  | { readonly ok: false; readonly message: string };

export interface Attempt {
  readonly id: string;
  readonly startTime: Instant;
}

/** What is known without a call to the console. */
export interface Known {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly generation: number;
  readonly deleting: boolean;
  readonly namespaceTerminating: boolean;
  readonly held: boolean;
  readonly wish: Wish;
  readonly lookup: ConnectionLookup;
  readonly account: Account | undefined;
  readonly attempt: Attempt | undefined;
  /** ApiKeys and PolicyBindings that refer to it, by kind and name. */
  readonly users: readonly string[];
  /** When the newest of its ApiKeys' keys that the account's list lacks came into use. */
  readonly unlistedKeyAt: Instant | undefined;
  /** A request for a new look that has not been answered. */
  readonly asked: string | undefined;
  readonly memory: Memory;
}

/** Reads the object and what the caches and the connection registry say about it. */
export async function observeCluster(
  object: ServiceAccount,
  memory: Memory,
  { caches, connections }: Context,
): Promise<Known> {
  const { metadata, status } = object;
  const key = keyOf(object);
  const deleting = metadata.deletionTimestamp !== undefined;
  const home = caches.namespaces.get({ namespace: "", name: key.namespace });
  const startTime = parseInstant(status?.attempt?.startTime);
  const requested = requestToken(metadata, annotations.reconcileRequestedAt);
  return {
    key,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    deleting,
    namespaceTerminating: home?.metadata.deletionTimestamp !== undefined,
    held: hasFinalizer(object),
    wish: readWish(object, deleting),
    lookup: await connections.resolve(refOf(object), key.namespace),
    account: fromStatus(status),
    attempt:
      status?.attempt === undefined
        ? undefined
        : { id: status.attempt.id, startTime: startTime ?? 0 },
    users: findUsers(key, caches),
    unlistedKeyAt: findUnlistedKey(key, status?.liveKeyIds, caches),
    asked: requested === status?.lastHandledReconcileAt ? undefined : requested,
    memory,
  };
}

function readWish(object: ServiceAccount, deleting: boolean): Wish {
  const parsed = parseSpec(serviceAccountKind, object);
  if (parsed.ok || !deleting) return parsed;
  const { suspend, deletionPolicy } = object.spec ?? {};
  const policies = ["Revoke", "Retain", "Delete"] as const;
  const policy = policies.find((each) => each === deletionPolicy);
  const lenient = {
    ...(suspend === true ? { suspend } : {}),
    ...(policy === undefined ? {} : { deletionPolicy: policy }),
  };
  return parseSpec(serviceAccountKind, { spec: lenient });
}

function findUsers(key: ObjectKey, caches: Context["caches"]): readonly string[] {
  const names = (kind: string, objects: readonly { metadata: { name: string } }[]) =>
    objects.map(({ metadata }) => `${kind} ${metadata.name}`).sort();
  return [
    ...names("ApiKey", caches.apiKeys.byIndex(indexes.serviceAccount, keyText(key))),
    ...names("PolicyBinding", caches.policyBindings.byIndex(indexes.serviceAccount, keyText(key))),
  ];
}

function findUnlistedKey(
  key: ObjectKey,
  liveKeyIds: readonly string[] | undefined,
  caches: Context["caches"],
): Instant | undefined {
  if (liveKeyIds === undefined) return undefined;
  const listed = new Set(liveKeyIds);
  let newest: Instant | undefined;
  for (const { status } of caches.apiKeys.byIndex(indexes.serviceAccount, keyText(key))) {
    const { current } = status ?? {};
    if (current === undefined || listed.has(current.keyId)) continue;
    const at = parseInstant(current.verificationTime ?? current.issueTime) ?? 0;
    newest = Math.max(newest ?? at, at);
  }
  return newest;
}

/** The console's listing, or why there is none that could be used. */
export type Listing =
  | { readonly ok: true; readonly accounts: readonly IamServiceAccount[] }
  | { readonly ok: false; readonly code: IamErrorCode };

const LISTING_UNUSABLE: ReadonlySet<IamErrorCode> = new Set([
  "MalformedResponse",
  "NotFound",
  "PermissionDenied",
]);

/** Call 3. A console that does not let itself be listed is a finding; one that is down is an error. */
export async function observeListing(
  { client }: ConnectionAccess,
  signal: AbortSignal,
): Promise<Listing> {
  try {
    return { ok: true, accounts: await client.listServiceAccounts(signal) };
  } catch (error) {
    if (!isIamError(error) || !LISTING_UNUSABLE.has(error.code)) throw error;
    return { ok: false, code: error.code };
  }
}
