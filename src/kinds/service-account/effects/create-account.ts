/** Creates an account: records the intent, then makes the call that must not be repeated. */

import { CREATING } from "../../../accounts/new-account.ts";
import { toEvent } from "../../../api/events.ts";
import { clientIdentity } from "../../../connections/client-settings.ts";
import { commitOutcome } from "../../../console/errors.ts";
import type { IamServiceAccount, NewServiceAccount } from "../../../console/model.ts";
import { KubeError } from "../../../kube/errors.ts";
import { keyOf } from "../../../kube/resource.ts";
import { accessToRevoke } from "../../../reconciler/context.ts";
import { type Answered, defineEffect } from "../../../reconciler/effects.ts";
import { addFinalizer } from "../../../reconciler/finalizers.ts";
import { storeIntent } from "../../../reconciler/intent.ts";
import { inventedId, inventedTpn } from "../../../reconciler/plan/invented.ts";
import {
  describeStop,
  UNREADABLE_RESPONSE,
  type UnreadableResponse,
  unreadableResponse,
} from "../../../reconciler/rules/unreadable-response.ts";
import { reconciling } from "../../../reconciler/rules/waiting.ts";
import { attemptId, markerOf } from "../../../resources/marker.ts";
import { serviceAccountType } from "../../../resources/resource-types.ts";
import { intentText } from "../../../resources/stored-intent.ts";
import { type Instant, parseInstant, toIso8601 } from "../../../util/time.ts";
import { toError } from "../../../util/to-error.ts";
import type { AccountLists } from "../account-lists.ts";
import type { NamesInCreation } from "../names-in-creation.ts";
import { fromConsole } from "../rules/account.ts";
import { doubtAbout } from "../rules/creation.ts";
import { consoleURLOf, desiredAccount, expectedAccount } from "../rules/desired-account.ts";
import type {
  AccountEffects,
  AccountKind,
  AccountRun,
  AccountSnapshot,
  WithAttempt,
} from "../rules/snapshot.ts";
import { accountStatusCodec } from "../rules/status.ts";
import { connectionOf, sessionOf } from "./look-up.ts";

/**
 * Records the intent (S6) only if the object has not changed since it was read; rejects with Conflict otherwise. Writes
 * the intent to the annotation if descriptions will show what the attempt created, otherwise to the status, which
 * tenants cannot write.
 */
export function defineRecord(names: NamesInCreation) {
  return defineEffect<AccountKind, AccountSnapshot, void, WithAttempt>({
    kind: "RecordAttempt",
    call: async (_, snapshot, run) => {
      const name = nameIn(snapshot);
      const { uid } = snapshot.object.metadata;
      if (!names.begin(name, uid, snapshot.listTime ?? 0, run.clock.now()))
        throw nameIsTaken(snapshot);
      try {
        return { answer: await storeAttempt(snapshot, run) };
      } catch (error) {
        names.end(name, run.clock.now());
        throw error;
      }
    },
    planned: (_, snapshot, { clock }) => ({
      answer: withIntent(snapshot, attemptId(snapshot.object.metadata.uid, "plan"), clock.now()),
    }),
  });
}

async function storeAttempt(snapshot: AccountSnapshot, run: AccountRun): Promise<WithAttempt> {
  const id = attemptId(snapshot.object.metadata.uid, run.random.id());
  const announced = withIntent(snapshot, id, run.clock.now());
  const { described } = announced.attempt;
  const { object: withFinalizer, isStored } =
    described === undefined
      ? { object: await addFinalizer(run, serviceAccountType, snapshot.object), isStored: false }
      : await storeIntent(run, serviceAccountType, snapshot.object, {
          attemptId: id,
          text: textOf(announced),
        });
  const stored = { ...announced, object: withFinalizer };
  if (isStored) return stored;
  const written = await run.writeStatus(stored, CREATION);
  return { ...stored, object: written.object };
}

/** The name in its console and organization. */
function nameIn(snapshot: AccountSnapshot): string {
  const { name, orgId } = desiredAccount(snapshot);
  return `${consoleURLOf(snapshot)} ${orgId} ${name.toLowerCase()}`;
}

function nameIsTaken(snapshot: AccountSnapshot): KubeError {
  const { name } = desiredAccount(snapshot);
  return new KubeError("Conflict", `another ServiceAccount is creating account ${name}`);
}

const CREATION = reconciling(CREATING, "The account is being created in the console.");

function withIntent(snapshot: AccountSnapshot, id: string, now: Instant): WithAttempt {
  // As it will be read back: times in a status have whole seconds.
  const startTime = parseInstant(toIso8601(now)) ?? now;
  // The call of an earlier attempt may still take effect.
  const recoveryTime = snapshot.attempt === undefined ? snapshot.recoveryTime : now;
  const { name } = desiredAccount(snapshot);
  const attempt = { id, startTime, name, described: isDescribed(snapshot) || undefined };
  return { ...snapshot, attempt, unreadableResponse: undefined, recoveryTime };
}

/**
 * Whether the console returns descriptions as the operator wrote them. False for an open attempt, which is in the
 * status.
 */
function isDescribed({ listing, attempt }: AccountSnapshot): boolean {
  if (attempt !== undefined || listing?.ok !== true) return false;
  return listing.accounts.some(({ description = "" }) => markerOf(description) !== undefined);
}

function textOf({ attempt, object }: WithAttempt): string {
  const stored = accountStatusCodec.encode({ attempt }).attempt;
  if (stored === undefined) throw new Error("an intent has an attempt");
  return intentText({ attempt: stored }, object);
}

/** What the call of an attempt has done. Any other failure rejects: the attempt stays open for recovery. */
type CreationAnswer =
  | { readonly account: IamServiceAccount; readonly lookTime: Instant; readonly error?: undefined }
  /** Without `unreadable`, the console has rejected the call. */
  | { readonly error: Error; readonly unreadable?: UnreadableResponse };

/** The snapshot after the call; with `error`, the run fails. */
interface Creation {
  readonly snapshot: AccountSnapshot;
  readonly error?: Error;
}

/** Calls createServiceAccount once. */
export function defineCreation(lists: AccountLists, names: NamesInCreation) {
  const create = defineEffect<AccountKind, WithAttempt, NewServiceAccount, CreationAnswer>({
    kind: "CreateAccount",
    call: async (account, snapshot, run) => {
      const { clock, log, signal } = run;
      const attempt = snapshot.attempt.id;
      const lookTime = clock.now();
      lists.noteCreation(connectionOf(snapshot), lookTime);
      try {
        const client = run.console(sessionOf(snapshot));
        const created = await client.createServiceAccount(account, signal);
        const { saId } = created;
        log.info({ ...keyOf(snapshot.object), saId, attempt }, "created service account");
        return {
          answer: { account: created, lookTime },
          remember: (before) => ({ ...before, created: { attempt, account: created } }),
        };
      } catch (error) {
        const unreadable = unreadableIn(error, snapshot);
        if (unreadable !== undefined) return stop(toError(error), unreadable, snapshot, run);
        if (commitOutcome(error) !== "NotCommitted") throw error;
        return { answer: { error: toError(error) } };
      } finally {
        names.end(nameIn(snapshot), clock.now());
      }
    },
    planned: (account, { listing }, { clock }) => {
      const { name, projectId } = account;
      const saId = inventedId(name);
      const message = `Creates service account ${name} in project ${projectId}.${doubtAbout(listing)}`;
      return {
        answer: {
          account: { ...account, saId, tpn: inventedTpn(saId), status: "active" },
          lookTime: clock.now(),
        },
        line: { call: "createServiceAccount", object: name, message },
      };
    },
  });
  return function* (snapshot: WithAttempt, account: NewServiceAccount): AccountEffects<Creation> {
    return afterCreation(snapshot, yield* create(snapshot, account));
  };
}

function afterCreation(snapshot: WithAttempt, answer: CreationAnswer): Creation {
  const closed = { ...snapshot, attempt: undefined };
  if (answer.error === undefined) {
    const { account, lookTime } = answer;
    // The console documents that a new account has no keys.
    const known = { ...expectedAccount(snapshot, "Created"), liveKeyIds: [] };
    return {
      snapshot: { ...closed, account: fromConsole(account, known), lookTime, became: "Created" },
    };
  }
  const { error, unreadable } = answer;
  return unreadable === undefined
    ? { snapshot: closed, error }
    : { snapshot: { ...snapshot, unreadableResponse: unreadable }, error };
}

function unreadableIn(
  error: unknown,
  { object, connection, attempt }: WithAttempt,
): UnreadableResponse | undefined {
  const access = accessToRevoke(connection);
  return access && unreadableResponse(error, attempt.id, object, clientIdentity(access.spec));
}

/** No second account is created for the time being; the attempt stays open until its account is found. */
function stop(
  error: Error,
  unreadable: UnreadableResponse,
  { object, attempt }: WithAttempt,
  { log }: Pick<AccountRun, "log">,
): Answered<AccountKind, CreationAnswer> {
  log.warn(
    { ...keyOf(object), attempt: attempt.id, why: unreadable.message },
    "could not read the response to the creation of a service account",
  );
  return {
    answer: { error, unreadable },
    events: [{ object, event: toEvent(UNREADABLE_RESPONSE, "Create", describeStop(unreadable)) }],
    remember: (before) => ({ ...before, unreadableResponse: unreadable }),
  };
}
