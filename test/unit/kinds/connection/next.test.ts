import { expect, test } from "vitest";
import { next, nextOfDeletion } from "../../../../src/kinds/connection/rules/next.ts";
import type { ConnectionSnapshot } from "../../../../src/kinds/connection/rules/snapshot.ts";
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
  material: { ok: false, reason, message: "no" } as const,
});
const withoutSecret = { ...lacking("SecretNotFound"), identity: undefined };
const withoutConfigMap = { ...lacking("ConfigMapNotFound"), session: undefined };
const invalid = { ...lacking("CertificateInvalid"), session: undefined };
const leaving = { ...withoutSecret, namespaceTerminating: true };
const invalidSpec = { spec: { ok: false, suspend: false, message: "no" } as const };
const inUse = { object: deleted, users: ["ServiceAccount a/b"] };

test.each<[string, Partial<ConnectionSnapshot>, string]>([
  ["a connection in order is checked", {}, "Authenticate"],
  ["one without a session gets one", { session: undefined }, "OpenSession NoSession"],
  ["a changed Secret", openedFor({ material: "s1/0" }), "OpenSession MaterialChanged"],
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
  const progress = { snapshot: { ...snapshot, ...changes }, done: {} };
  const isDeleting = progress.snapshot.object.metadata.deletionTimestamp !== undefined;
  const made = isDeleting ? nextOfDeletion(progress, at) : next(progress, at);
  const { kind, because, state, reason } = made as unknown as Record<string, string | undefined>;
  expect([kind, because, state, reason].filter((part) => part !== undefined).join(" ")).toBe(step);
});

test("after its login a run only says how the login stands", () => {
  const login = { kind: "Accepted", isNew: true } as const;
  expect(next({ snapshot, done: { login } }, at)).toEqual({ kind: "Settled" });
});

test("what holds a deletion names five users and counts the rest", () => {
  const users = ["a", "b", "c", "d", "e", "f", "g"];
  const login = { kind: "Accepted", isNew: false } as const;
  const progress = { snapshot: { ...snapshot, object: deleted, users }, done: { login } };
  expect(nextOfDeletion(progress, at)).toMatchObject({
    state: "Reconciling",
    reason: "InUse",
    message:
      "Deletion waits for objects that still use this object. Delete a, b, c, d, e and 2 more first.",
  });
});
