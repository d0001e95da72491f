import { expect, test } from "vitest";
import { API_VERSION } from "../../../../src/api/meta.ts";
import { clientIdentity } from "../../../../src/connections/client-settings.ts";
import { next, nextOfDeletion } from "../../../../src/controllers/connection/rules/next.ts";
import type { ConnectionSnapshot } from "../../../../src/controllers/connection/rules/snapshot.ts";
import type { Session } from "../../../../src/controllers/connection/sessions.ts";
import type { IamClient } from "../../../../src/iam/client/client.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { connectionSpec } from "./specs.ts";

const NOW = Date.UTC(2026, 0, 1);
const spec = connectionSpec();
const identity = { uid: "u1", spec: clientIdentity(spec), material: "s1/1" };
const credentials = {
  kind: "login",
  username: "operator",
  password: new Redacted("x"),
  domain: "acme",
} as const;
const session: Session = { identity, client: {} as IamClient, usable: true, reason: "" };
const at = { now: NOW, monotonic: 0, fraction: 0.5 };
const metadata = { name: "default", uid: "u1", resourceVersion: "1", generation: 2 };
const object = { apiVersion: API_VERSION, kind: "ClusterConnection", metadata, spec };
const deleted = { ...object, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
const snapshot: ConnectionSnapshot = {
  object,
  key: "ClusterConnection/default",
  spec: { ok: true, suspend: false, spec },
  material: { ok: true, material: { credentials } },
  identity,
  session,
  outage: undefined,
  clockSkewSeconds: undefined,
  namespaceTerminating: false,
  users: [],
  request: undefined,
};
const withoutSecret: Partial<ConnectionSnapshot> = {
  material: { ok: false, reason: "SecretNotFound", message: "no" },
  identity: undefined,
};
const refusal = { at: NOW, count: 1, until: NOW + 1_000, message: "no" };

test.each<{ name: string; changes: Partial<ConnectionSnapshot>; step: string }>([
  { name: "a connection in order is checked", changes: {}, step: "Authenticate" },
  {
    name: "a connection without a session gets one",
    changes: { session: undefined },
    step: "OpenSession NoSession",
  },
  {
    name: "a changed Secret opens a new session",
    changes: { session: { ...session, identity: { ...identity, material: "s1/0" } } },
    step: "OpenSession MaterialChanged",
  },
  {
    name: "a changed spec opens a new session",
    changes: { session: { ...session, identity: { ...identity, spec: "{}" } } },
    step: "OpenSession SpecChanged",
  },
  {
    name: "a connection that was made anew inherits nothing",
    changes: { session: { ...session, identity: { ...identity, uid: "u0" } } },
    step: "OpenSession Recreated",
  },
  {
    name: "a request opens a new session",
    changes: { request: "x" },
    step: "OpenSession Requested",
  },
  {
    name: "a refused login rests for its pause",
    changes: { session: { ...session, usable: false, refusal } },
    step: "Waiting Stalled LoginFailed",
  },
  {
    name: "a refused login is tried after its pause",
    changes: { session: { ...session, usable: false, refusal: { ...refusal, until: NOW } } },
    step: "Authenticate",
  },
  {
    name: "credentials that were taken away are not used",
    changes: withoutSecret,
    step: "CloseSession",
  },
  {
    name: "a Secret that goes with its namespace leaves the session to clean up",
    changes: { ...withoutSecret, namespaceTerminating: true },
    step: "Waiting Reconciling SecretNotFound",
  },
  {
    name: "authorities that were taken away end the trust in them",
    changes: { material: { ok: false, reason: "ConfigMapNotFound", message: "no" } },
    step: "CloseSession",
  },
  {
    name: "a ConfigMap that is not there may come from another controller",
    changes: {
      material: { ok: false, reason: "ConfigMapNotFound", message: "no" },
      session: undefined,
    },
    step: "Waiting Reconciling ConfigMapNotFound",
  },
  {
    name: "a certificate without its key waits for a person",
    changes: {
      material: { ok: false, reason: "CertificateInvalid", message: "no" },
      session: undefined,
    },
    step: "Waiting Stalled CertificateInvalid",
  },
  {
    name: "an invalid spec ends the session",
    changes: { spec: { ok: false, suspend: false, message: "no" } },
    step: "CloseSession",
  },
  {
    name: "a connection in use works on while it is deleted",
    changes: { object: deleted, users: ["ServiceAccount a/b"] },
    step: "Authenticate",
  },
  {
    name: "the session of a deleted connection that nothing uses is closed",
    changes: { object: deleted },
    step: "CloseSession",
  },
  {
    name: "a deleted connection that nothing uses is released",
    changes: { object: deleted, session: undefined },
    step: "Released",
  },
  {
    name: "a login that succeeded settles",
    changes: {},
    step: "Authenticate",
  },
])("$name", ({ changes, step }) => {
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
      "Deletion waits for objects that still use this object: a, b, c, d, e and 2 more. Delete them first.",
  });
});
