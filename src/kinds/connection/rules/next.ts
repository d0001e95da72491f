/** The next action for a connection. Pure. */

import { clientSettings } from "../../../connections/client-settings.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Released, Settled, Waiting } from "../../../reconciler/rules/outcome.ts";
import type { Progress } from "../../../reconciler/run-context.ts";
import { remainingMs } from "../../../util/agreed-time.ts";
import type { Instant } from "../../../util/time.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import type { SessionState } from "../sessions.ts";
import { authentication } from "./authentication.ts";
import type {
  ConnectionAction,
  ConnectionKind,
  ConnectionSnapshot,
  SessionChange,
} from "./snapshot.ts";

const NAMED_USERS = 5;

export function next(
  progress: Progress<ConnectionKind>,
  at: ClockReading,
): ConnectionAction | Waiting | Settled {
  const { snapshot, done } = progress;
  const action = done.login === undefined ? sessionAction(snapshot, at) : probe(progress);
  return action ?? standing(progress);
}

/** A connection in use keeps its login during its deletion: objects that are being deleted too need the login. */
export function nextOfDeletion(
  progress: Progress<ConnectionKind>,
  at: ClockReading,
): ConnectionAction | Waiting | Settled | Released {
  const { snapshot, done } = progress;
  const { users, session } = snapshot;
  if (users.length === 0)
    return session === undefined ? { kind: "Released", events: [] } : { kind: "CloseSession" };
  const action = done.login === undefined ? sessionAction(snapshot, at) : undefined;
  return (
    action ?? {
      kind: "Waiting",
      state: "Reconciling",
      reason: "InUse",
      message: `Deletion waits for objects that still use this object. Delete ${truncateList(users, NAMED_USERS)} first.`,
    }
  );
}

/** Probes only during an outage and after an accepted login. A failed login has already called the console. */
function probe({ snapshot, done }: Progress<ConnectionKind>): ConnectionAction | undefined {
  if (snapshot.outage === undefined || done.hasProbed) return undefined;
  return done.login?.kind === "Accepted" ? { kind: "Probe" } : undefined;
}

/** The state of the login is the state of the connection. */
function standing({ snapshot, done }: Progress<ConnectionKind>): Waiting | Settled {
  const { status, reason, message } = authentication(snapshot, done.login);
  if (status === "True") return { kind: "Settled" };
  return { kind: "Waiting", state: stateFor(reason), reason, message };
}

/** Stalled if a login that fails for this reason requires manual action. */
export function stateFor(reason: string): Waiting["state"] {
  return RESOLVED_WITHOUT_A_PERSON.has(reason) ? "Reconciling" : "Stalled";
}

/** Another controller may create a missing object, and a console may recover. */
const RESOLVED_WITHOUT_A_PERSON: ReadonlySet<string> = new Set([
  "SecretNotFound",
  "ConfigMapNotFound",
  "ConsoleUnavailable",
]);

function sessionAction(
  snapshot: ConnectionSnapshot,
  { now }: ClockReading,
): ConnectionAction | undefined {
  const { spec, material, identity, session } = snapshot;
  if (!spec.ok || material?.ok === false) return closeUnlessNeeded(snapshot);
  if (material === undefined || identity === undefined) return undefined;
  const because = changeOf(snapshot);
  if (because !== undefined) {
    const settings = clientSettings(spec.spec, material.material);
    return { kind: "OpenSession", because, identity, settings };
  }
  if (session === undefined) return undefined;
  return isPaused(session, now) ? undefined : { kind: "Authenticate" };
}

function isPaused({ usable, refusal }: SessionState, now: Instant): boolean {
  if (usable || refusal === undefined) return false;
  return remainingMs(refusal.at, refusal.until - refusal.at, now) > 0;
}

/**
 * Closes the session if its credentials or its spec are no longer valid. Keeps it while the connection or its namespace
 * is being deleted, because the cleanup of other objects needs it.
 */
function closeUnlessNeeded({
  object,
  session,
  namespaceTerminating,
}: ConnectionSnapshot): ConnectionAction | undefined {
  const isDeleting = object.metadata.deletionTimestamp !== undefined;
  return session === undefined || isDeleting || namespaceTerminating
    ? undefined
    : { kind: "CloseSession" };
}

function changeOf({
  session,
  identity: wanted,
  request,
}: ConnectionSnapshot): SessionChange | undefined {
  if (session === undefined) return "NoSession";
  const { identity } = session;
  if (identity.uid !== wanted?.uid) return "Recreated";
  if (identity.spec !== wanted.spec) return "SpecChanged";
  if (identity.material !== wanted.material) return "MaterialChanged";
  return request === undefined ? undefined : "Requested";
}
