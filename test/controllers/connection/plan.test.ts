import { expect, test } from "vitest";
import { clientIdentity } from "../../../src/controllers/connection/client-settings.ts";
import type { Observed } from "../../../src/controllers/connection/observe.ts";
import { plan } from "../../../src/controllers/connection/plan.ts";
import type { Session } from "../../../src/controllers/connection/sessions.ts";
import type { IamClient } from "../../../src/iam/client/client.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { connectionSpec } from "./specs.ts";

const NOW = Date.UTC(2026, 0, 1);
const spec = connectionSpec();
const identity = { uid: "u1", spec: clientIdentity(spec), secretUid: "s1", secretVersion: "1" };
const credentials = {
  kind: "login",
  username: "operator",
  password: new Redacted("x"),
  domain: "acme",
} as const;
const session: Session = { identity, client: {} as IamClient, usable: true, reason: "" };
const seen: Observed = {
  key: "ClusterConnection/default",
  deleting: false,
  namespaceTerminating: false,
  held: true,
  spec: { ok: true, spec, credentials: { ok: true, credentials }, identity },
  session,
  users: [],
  asked: undefined,
};
const withoutSecret: Observed["spec"] = {
  ok: true,
  spec,
  credentials: { ok: false, reason: "SecretNotFound", message: "no" },
  identity: undefined,
};
const refusal = { at: NOW, count: 1, until: NOW + 1_000, message: "no" };

test.each<{ name: string; seen: Partial<Observed>; actions: readonly string[] }>([
  { name: "a connection in order is checked", seen: {}, actions: ["Authenticate CheckIsDue"] },
  {
    name: "the finalizer comes before the first use",
    seen: { held: false, session: undefined },
    actions: ["AddFinalizer FinalizerIsMissing", "OpenSession NoSession"],
  },
  {
    name: "a changed Secret opens a new session",
    seen: { session: { ...session, identity: { ...identity, secretVersion: "0" } } },
    actions: ["OpenSession SecretChanged"],
  },
  {
    name: "a Secret of the same name is another one",
    seen: { session: { ...session, identity: { ...identity, secretUid: "s0" } } },
    actions: ["OpenSession SecretChanged"],
  },
  {
    name: "a changed spec opens a new session",
    seen: { session: { ...session, identity: { ...identity, spec: "{}" } } },
    actions: ["OpenSession SpecChanged"],
  },
  {
    name: "a connection that was made anew inherits nothing",
    seen: { session: { ...session, identity: { ...identity, uid: "u0" } } },
    actions: ["OpenSession Recreated"],
  },
  {
    name: "a request opens a new session",
    seen: { asked: "x" },
    actions: ["OpenSession Requested"],
  },
  {
    name: "a refused login rests for its pause",
    seen: { session: { ...session, usable: false, refusal } },
    actions: [],
  },
  {
    name: "a refused login is tried after its pause",
    seen: { session: { ...session, usable: false, refusal: { ...refusal, until: NOW } } },
    actions: ["Authenticate CheckIsDue"],
  },
  {
    name: "credentials that were taken away are not used",
    seen: { spec: withoutSecret },
    actions: ["CloseSession SecretNotFound"],
  },
  {
    name: "a Secret that goes with its namespace leaves the session to clean up",
    seen: { spec: withoutSecret, namespaceTerminating: true },
    actions: [],
  },
  {
    name: "an invalid spec ends the session",
    seen: { spec: { ok: false, message: "no" } },
    actions: ["CloseSession InvalidSpec"],
  },
  {
    name: "a connection in use works on while it is deleted",
    seen: { deleting: true, users: ["ServiceAccount a/b"] },
    actions: ["Authenticate CheckIsDue"],
  },
  {
    name: "a connection that nothing uses is let go",
    seen: { deleting: true },
    actions: ["CloseSession Deleted", "RemoveFinalizer NotInUse"],
  },
])("$name", ({ seen: changes, actions }) => {
  const planned = plan({ ...seen, ...changes }, NOW).map(
    ({ kind, because }) => `${kind} ${because}`,
  );
  expect(planned).toEqual(actions);
});
