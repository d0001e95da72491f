import fc from "fast-check";
import { IamError } from "../../../../src/console/errors.ts";
import { sessionEffects } from "../../../../src/kinds/connection/effects/session.ts";
import { report } from "../../../../src/kinds/connection/rules/report.ts";
import type {
  ConnectionKind,
  ConnectionSnapshot,
  Login,
} from "../../../../src/kinds/connection/rules/snapshot.ts";
import { deleteConnection, reconcileConnection } from "../../../../src/kinds/connection/run.ts";
import type { ObjectReport } from "../../../../src/reconciler/rules/report.ts";
import { HOUR } from "../../../../src/util/time.ts";
import { ago, mostly, type Requeued, rarely, type Situation } from "../requeue.ts";
import { credentials, identity, snapshot as inOrder, NOW, session } from "./snapshot.ts";

const real = sessionEffects({} as never);
/** A run that has logged in goes on as the snapshot says. */
const effects: typeof real = {
  ...real,
  *openSession(s, input) {
    return s.login === undefined ? yield* real.openSession(s, input) : s;
  },
  *authenticate(s) {
    return s.login === undefined ? yield* real.authenticate(s) : s;
  },
};
const rulesOf = (type: ObjectReport["type"]): Requeued<ConnectionKind>["rules"] => ({
  run: (snapshot, readNow) => reconcileConnection(snapshot, readNow().now, effects),
  runOfDeletion: (snapshot, readNow) => deleteConnection(snapshot, readNow().now, effects),
  report: (snapshot, outcome, at) => report(type, snapshot, outcome, at),
});
const valid = inOrder.object.spec;
const failed = (reason: "LoginFailed" | "ConsoleUnavailable"): Login => ({
  kind: "Failed",
  reason,
  error: new IamError("Unavailable", "no", { operation: "login" }),
});
const situations = fc
  .record({
    spec: mostly<ConnectionSnapshot["spec"]>(
      { ok: true, suspend: false, spec: valid },
      { ok: true, suspend: true, spec: valid },
      { ok: false, suspend: false, message: "no" },
    ),
    inputs: mostly<ConnectionSnapshot["inputs"]>(
      { ok: true, value: { credentials } },
      { ok: false, reason: "SecretNotFound", message: "no" },
      undefined,
    ),
    // The end of a pause waits for a regular check.
    refusedFor: fc.constantFrom(undefined, 0, HOUR),
    usable: fc.boolean(),
    outage: rarely(ago.map((ms) => ({ since: NOW - ms, code: "503", waiting: 3 }))),
    hasSession: mostly(true, false),
    users: fc.constantFrom([], ["ServiceAccount team-a/ci"]),
    deleting: mostly(false, true),
    login: mostly<Login | undefined>(
      undefined,
      { kind: "Accepted", isNew: true },
      failed("LoginFailed"),
      failed("ConsoleUnavailable"),
    ),
  })
  .map((drawn): Situation<ConnectionKind> => {
    const { spec, inputs, refusedFor, usable, outage, hasSession, users, deleting, login } = drawn;
    const { object } = inOrder;
    const deletion = deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
    const refusal =
      refusedFor === undefined
        ? undefined
        : { at: NOW, count: 1, until: NOW + refusedFor, message: "no" };
    const opened = { ...session, usable, ...(refusal && { refusal }) };
    const snapshot: ConnectionSnapshot = {
      ...inOrder,
      object: { ...object, metadata: { ...object.metadata, ...deletion } },
      spec,
      inputs,
      identity: inputs?.ok === true ? identity : undefined,
      session: hasSession ? opened : undefined,
      outage,
      users,
      ...(login && { login }),
    };
    return { snapshot, spec, done: login };
  });

export const requeued = (type: ObjectReport["type"]): Requeued<ConnectionKind> => ({
  rules: rulesOf(type),
  situations,
  now: NOW,
});
