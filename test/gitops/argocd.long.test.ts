/** The health script for Argo CD, on the Lua engine that Argo CD uses. Needs Go. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Condition, type Readiness, readinessConditions } from "../../src/api/conditions.ts";
import { kinds } from "../../src/api/kinds.ts";
import { API_VERSION } from "../../src/api/meta.ts";

const script = join(import.meta.dirname, "../../deploy/argocd/health.lua");

/** What the script says about objects, in their order. */
function judge(objects: readonly object[]): readonly { status: string; message: string }[] {
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off" };
  const { stdout, stderr, status } = spawnSync("go", ["run", "./cmd/lua-health", script], {
    cwd: import.meta.dirname,
    env,
    encoding: "utf8",
    input: JSON.stringify(objects),
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

const conditionsOf = (readiness: Readiness): readonly Condition[] =>
  readinessConditions([], readiness, 2, 0 as never);
const ready = conditionsOf({ state: "Ready", reason: "Ready", message: "Fine." });
const suspended = conditionsOf({ state: "Ready", reason: "Suspended", message: "Suspended." });
const waiting = conditionsOf({ state: "Reconciling", reason: "Issuing", message: "Issuing." });
const stalled = conditionsOf({ state: "Stalled", reason: "NotGranted", message: "No grant." });

const states: readonly (readonly [string, object, object, string, string])[] = [
  ["new", {}, {}, "Progressing", "Waiting for iam-operator"],
  ["ready", {}, { observedGeneration: 2, conditions: ready }, "Healthy", "Fine."],
  [
    "changed since",
    {},
    { observedGeneration: 1, conditions: ready },
    "Progressing",
    "Waiting for iam-operator",
  ],
  ["on its way", {}, { observedGeneration: 2, conditions: waiting }, "Progressing", "Issuing."],
  ["stalled", {}, { observedGeneration: 2, conditions: stalled }, "Degraded", "No grant."],
  [
    "suspended in use",
    {},
    { observedGeneration: 2, conditions: suspended },
    "Suspended",
    "Suspended.",
  ],
  [
    "in deletion",
    { deletionTimestamp: "2026-01-01T00:00:00Z" },
    { observedGeneration: 2, conditions: ready },
    "Progressing",
    "Fine.",
  ],
];

test.each(kinds)("Argo CD reads the health of $kind", ({ kind }) => {
  const objects = states.map(([, metadata, status]) => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name: "a", generation: 2, ...metadata },
    status,
  }));
  const said = judge(objects);
  expect(said).toEqual(states.map(([, , , status, message]) => ({ status, message })));
});
