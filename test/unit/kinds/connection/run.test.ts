import { expect, test } from "vitest";
import { sessionEffects } from "../../../../src/kinds/connection/effects/session.ts";
import type { ConnectionSnapshot } from "../../../../src/kinds/connection/rules/snapshot.ts";
import { deleteConnection, reconcileConnection } from "../../../../src/kinds/connection/run.ts";
import { playRun } from "../play-run.ts";
import { at, identity, NOW, session, snapshot } from "./snapshot.ts";

const { object } = snapshot;
const deletionTimestamp = "2026-01-01T00:00:00Z";
const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp } };
const refusal = { at: NOW, count: 1, until: NOW + 1_000, message: "no" };
const refused = { session: { ...session, usable: false, refusal } };
const acceptedSince = { session: { ...session, refusal } };
const rested = { session: { ...session, usable: false, refusal: { ...refusal, until: NOW } } };
const setBack = {
  session: {
    ...session,
    usable: false,
    refusal: { ...refusal, at: NOW + 60_000_000, until: NOW + 60_001_000 },
  },
};
const openedFor = (changes: object) => ({
  session: { ...session, identity: { ...identity, ...changes } },
});
const lacking = (reason: "SecretNotFound" | "ConfigMapNotFound" | "CertificateInvalid") => ({
  inputs: { ok: false, reason, message: "no" } as const,
});
const withoutSecret = { ...lacking("SecretNotFound"), identity: undefined };
const withoutConfigMap = { ...lacking("ConfigMapNotFound"), session: undefined };
const invalid = { ...lacking("CertificateInvalid"), session: undefined };
const leaving = { ...withoutSecret, namespaceTerminating: true };
const invalidSpec = { spec: { ok: false, suspend: false, message: "no" } as const };
const inUse = { object: deleted, users: ["ServiceAccount a/b"] };

const effects = sessionEffects({} as never);

function played(start: ConnectionSnapshot, answers: Readonly<Record<string, unknown>> = {}) {
  const isDeleting = start.object.metadata.deletionTimestamp !== undefined;
  const run = isDeleting ? deleteConnection : reconcileConnection;
  return playRun(run(start, at.now, effects), answers);
}

test.each<[string, Partial<ConnectionSnapshot>, string]>([
  ["a connection in order is checked", {}, "Authenticate"],
  ["one without a session gets one", { session: undefined }, "OpenSession NoSession"],
  ["a changed Secret", openedFor({ inputs: "s1/0" }), "OpenSession InputsChanged"],
  ["a changed spec", openedFor({ spec: "{}" }), "OpenSession SpecChanged"],
  ["a connection that was created again", openedFor({ uid: "u0" }), "OpenSession Recreated"],
  ["a request", { request: "x" }, "OpenSession Requested"],
  ["a refused login rests for its pause", refused, "Waiting Stalled LoginFailed"],
  ["an earlier refusal does not stop a usable login", acceptedSince, "Authenticate"],
  ["it is tried after its pause", rested, "Authenticate"],
  ["it is tried after the clock was set back", setBack, "Authenticate"],
  ["credentials that were taken away are not used", withoutSecret, "CloseSession"],
  ["unless their namespace is deleted", leaving, "Waiting Reconciling SecretNotFound"],
  ["a CA that was taken away is not trusted", lacking("ConfigMapNotFound"), "CloseSession"],
  ["a ConfigMap is waited for", withoutConfigMap, "Waiting Reconciling ConfigMapNotFound"],
  ["a certificate without its key", invalid, "Waiting Stalled CertificateInvalid"],
  ["an invalid spec ends the session", invalidSpec, "CloseSession"],
  ["a deleted connection in use works on", inUse, "Authenticate"],
  [
    "even if its Secret is gone: the cleanup of other objects needs its login",
    { ...withoutSecret, ...inUse },
    "Waiting Reconciling InUse",
  ],
  ["the session of an unused one is closed", { object: deleted }, "CloseSession"],
  ["an unused one is released", { object: deleted, session: undefined }, "Released"],
])("%s", (_, changes, step) => {
  const [made] = played({ ...snapshot, ...changes });
  const { kind, because, state, reason } = made as Record<string, string | undefined>;
  expect([kind, because, state, reason].filter((part) => part !== undefined).join(" ")).toBe(step);
});

test("after its login a run only says how the login stands", () => {
  const login = { kind: "Accepted", isNew: true } as const;
  const loggedIn = { ...snapshot, login };
  expect([...played(snapshot, { Authenticate: loggedIn })]).toEqual([
    { kind: "Authenticate" },
    { kind: "Settled" },
  ]);
});

test("a session that was closed in between is opened again", () => {
  const login = { kind: "Accepted", isNew: true } as const;
  const closed = { ...snapshot, session: undefined };
  const answers = { Authenticate: closed, OpenSession: { ...snapshot, login } };
  expect([...played(snapshot, answers)]).toMatchObject([
    { kind: "Authenticate" },
    { kind: "OpenSession", because: "NoSession" },
    { kind: "Settled" },
  ]);
});

test("what holds a deletion names five users and counts the rest", () => {
  const users = ["a", "b", "c", "d", "e", "f", "g"];
  const before = { ...snapshot, object: deleted, users };
  expect([...played(before, { Authenticate: before })].at(-1)).toMatchObject({
    state: "Reconciling",
    reason: "InUse",
    message:
      "Deletion waits for objects that still use this object. Delete a, b, c, d, e and 2 more first.",
  });
});
