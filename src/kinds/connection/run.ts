/** The runs over a connection, from top to bottom. Pure: they yield their effects. */
import { clientSettings } from "../../connections/client-settings.ts";
import { type Ended, endRun } from "../../reconciler/effects.ts";
import type { Settled, Waiting } from "../../reconciler/rules/outcome.ts";
import { reconciling } from "../../reconciler/rules/waiting.ts";
import { remainingMs } from "../../util/agreed-time.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import type { Instant } from "../../util/time.ts";
import { truncateList } from "../../util/truncate-list.ts";
import type { SessionEffects } from "./effects/session.ts";
import { authentication, stateFor } from "./rules/authentication.ts";
import type {
  ConnectionEffects,
  ConnectionKind,
  ConnectionSnapshot,
  SessionChange,
} from "./rules/snapshot.ts";
import type { SessionState } from "./sessions.ts";

const NAMED_USERS = 5;

/** The state of the login is the state of the connection. */
export function* reconcileConnection(
  start: ConnectionSnapshot,
  now: Instant,
  effects: SessionEffects,
): ConnectionEffects<Ended<ConnectionKind>> {
  let s = yield* maintainSession(start, now, effects);
  // A failed login has already called the console.
  if (s.outage !== undefined && s.login?.kind === "Accepted") s = yield* effects.probe(s);
  return endRun(s, standing(s));
}

/** A connection in use keeps its login during its deletion: objects that are being deleted too need the login. */
export function* deleteConnection(
  start: ConnectionSnapshot,
  now: Instant,
  effects: SessionEffects,
): ConnectionEffects<Ended<ConnectionKind>> {
  const { users, session } = start;
  if (users.length > 0)
    return endRun(
      yield* maintainSession(start, now, effects),
      reconciling(
        "InUse",
        `Deletion waits for objects that still use this object. Delete ${truncateList(users, NAMED_USERS)} first.`,
      ),
    );
  const s = session === undefined ? start : yield* effects.closeSession(start);
  return endRun(s, { kind: "Released", events: [] });
}

function* maintainSession(
  start: ConnectionSnapshot,
  now: Instant,
  effects: SessionEffects,
): ConnectionEffects<ConnectionSnapshot> {
  const { spec, inputs, identity, session } = start;
  if (!spec.ok || inputs?.ok === false)
    return isKept(start) ? start : yield* effects.closeSession(start);
  if (inputs === undefined || identity === undefined) return start;
  const because = changeOf(start);
  if (because !== undefined) {
    const settings = clientSettings(spec.spec, inputs.value);
    return yield* effects.openSession(start, { because, identity, settings });
  }
  if (session === undefined || isPaused(session, now)) return start;
  const s = yield* effects.authenticate(start);
  // The session was closed in between.
  return s.session === undefined ? yield* maintainSession(s, now, effects) : s;
}

export function standing(s: ConnectionSnapshot): Waiting | Settled {
  const { status, reason, message } = authentication(s);
  if (status === "True") return { kind: "Settled" };
  return { kind: "Waiting", state: stateFor(reason), reason, message };
}

function isPaused({ usable, refusal }: SessionState, now: Instant): boolean {
  if (usable || refusal === undefined) return false;
  return remainingMs(refusal.at, refusal.until - refusal.at, now) > 0;
}

/**
 * Whether a session without valid credentials or with an invalid spec stays as it is: while the connection or its
 * namespace is being deleted, the cleanup of other objects needs it.
 */
function isKept({ object, session, namespaceTerminating }: ConnectionSnapshot): boolean {
  return session === undefined || isBeingDeleted(object) || namespaceTerminating;
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
  if (identity.inputs !== wanted.inputs) return "InputsChanged";
  return request === undefined ? undefined : "Requested";
}
