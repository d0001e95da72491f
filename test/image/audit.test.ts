import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { compareRights } from "../e2e/audit.ts";

const folder = mkdtempSync(join(tmpdir(), "iam-operator-audit-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function event(
  verb: string,
  resource: string,
  more: { name?: string; user?: string; at?: string; forbid?: true } = {},
) {
  const { name, user = "operator", at = "2026-01-01T00:00:00Z", forbid } = more;
  return JSON.stringify({
    verb,
    stageTimestamp: at,
    user: { username: user },
    objectRef: { resource, apiVersion: "v1", ...(name ? { name } : {}) },
    annotations: { "authorization.k8s.io/decision": forbid ? "forbid" : "allow" },
  });
}

test("rights are used, unused or missing, and refusals without roles are expected", () => {
  const log = join(folder, "audit.log");
  writeFileSync(
    log,
    [
      event("get", "secrets", { name: "a" }),
      event("list", "secrets", { user: "operator-of-others" }),
      event("get", "leases", { name: "mine" }),
      event("delete", "pods", { forbid: true }),
      event("update", "leases", { name: "mine", at: "2026-01-01T00:01:00Z", forbid: true }),
    ].join("\n"),
  );
  const rules = [
    { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] },
    { apiGroups: [""], resources: ["leases"], resourceNames: ["mine"], verbs: ["get"] },
    { apiGroups: [""], resources: ["leases"], resourceNames: ["other"], verbs: ["get"] },
  ];
  const minute = Date.parse("2026-01-01T00:01:00Z");
  expect(compareRights(log, "operator", rules, { from: minute, to: minute })).toEqual({
    used: ["get leases mine", "get secrets"],
    unused: ["get leases other", "list secrets"],
    denied: ["delete pods"],
    requests: 4,
  });
});
