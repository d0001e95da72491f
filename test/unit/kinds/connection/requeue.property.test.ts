import fc from "fast-check";
import { test } from "vitest";
import { IamError } from "../../../../src/console/errors.ts";
import { next, nextOfDeletion } from "../../../../src/kinds/connection/rules/next.ts";
import { report } from "../../../../src/kinds/connection/rules/report.ts";
import type {
  ConnectionDone,
  ConnectionKind,
  ConnectionSnapshot,
} from "../../../../src/kinds/connection/rules/snapshot.ts";
import { connectionSteps } from "../../../../src/kinds/connection/steps/steps.ts";
import { clusterConnectionType } from "../../../../src/resources/resource-types.ts";
import { HOUR } from "../../../../src/util/time.ts";
import { ago, expectRequeued, mostly, type Rules, rarely, type Situation } from "../requeue.ts";
import { credentials, identity, snapshot as inOrder, NOW, session } from "./snapshot.ts";

const rules: Rules<ConnectionKind> = {
  start: {},
  steps: connectionSteps({} as never),
  next,
  nextOfDeletion,
  report: (progress, outcome, at) => report(clusterConnectionType as never, progress, outcome, at),
};
const valid = inOrder.object.spec;
const failed = (reason: "LoginFailed" | "ConsoleUnavailable"): ConnectionDone => ({
  login: {
    kind: "Failed",
    reason,
    error: new IamError("Unavailable", "no", { operation: "login" }),
  },
});
const situations = fc
  .record({
    spec: mostly<ConnectionSnapshot["spec"]>(
      { ok: true, suspend: false, spec: valid },
      { ok: true, suspend: true, spec: valid },
      { ok: false, suspend: false, message: "no" },
    ),
    material: mostly<ConnectionSnapshot["material"]>(
      { ok: true, material: { credentials } },
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
    done: mostly<ConnectionDone | undefined>(
      undefined,
      { login: { kind: "Accepted", isNew: true } },
      failed("LoginFailed"),
      failed("ConsoleUnavailable"),
    ),
  })
  .map((drawn): Situation<ConnectionKind> => {
    const { spec, material, refusedFor, usable, outage, hasSession, users, deleting, done } = drawn;
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
      material,
      identity: material?.ok === true ? identity : undefined,
      session: hasSession ? opened : undefined,
      outage,
      users,
    };
    return { snapshot, spec, ...(done === undefined ? {} : { done }) };
  });

test("a run over a connection names the time of the next one", () => {
  expectRequeued(rules, situations, NOW);
});
