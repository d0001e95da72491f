import { describe, expect, test } from "vitest";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import type { ConnectionRef } from "../../../../src/api/fields.ts";
import { API_VERSION } from "../../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { IamError } from "../../../../src/console/errors.ts";
import { ALL_RIGHTS } from "../../../../src/kinds/connection/rules/effective-grant.ts";
import { defineListQuotas } from "../../../../src/kinds/quota-export/effects/list-quotas.ts";
import { chooseCredential } from "../../../../src/kinds/quota-export/rules/credential.ts";
import { explainDenial } from "../../../../src/kinds/quota-export/rules/denial.ts";
import { report } from "../../../../src/kinds/quota-export/rules/report.ts";
import { reconcileQuotaExport } from "../../../../src/kinds/quota-export/run.ts";
import { playRun } from "../play-run.ts";

const CONNECTION = { kind: "ClusterConnection", name: "default" } as const;

const login = { kind: "Bearer" };
const granting = (quotaExports: unknown) => ({
  connection: { ok: true, access: { grant: { ...ALL_RIGHTS, quotaExports } } },
});
const waiting = (kind: string) => ({ credential: { kind, message: "why" } });
const rested = { state: { generation: 1, request: undefined, notBefore: 5_000 } };
const refusal = { state: "Stalled", reason: "Denied", message: "no" };

/** An export of cluster 7 with the connection's login, once a minute. */
function played(seen: object, listing: object = { startedAt: 0, quotas: [] }): readonly object[] {
  const snapshot = {
    object: { metadata: { uid: "uid", generation: 1 } },
    spec: { clusterId: 7 },
    intervalMs: 60_000,
    rights: "some",
    credential: login,
    ...granting([7]),
    ...seen,
  };
  const at = { now: 0, monotonic: 0, fraction: 0 };
  const list = defineListQuotas(async () => undefined, {} as never);
  const run = reconcileQuotaExport(snapshot as never, () => at, list);
  return [...playRun(run, { ListQuotas: { ...snapshot, listing } })];
}

test.each<[string, object, object, object?]>([
  ["with the login, if a grant names the cluster", {}, { kind: "ListQuotas" }],
  ["with the login, if any cluster is granted", granting("Any"), { kind: "ListQuotas" }],
  ["not with the login, if no grant names it", granting([8]), { reason: "QuotaExportNotGranted" }],
  [
    "with a key, whatever is granted",
    { ...granting([]), credential: { kind: "Key" } },
    { kind: "ListQuotas" },
  ],
  ["not with a key of another connection", waiting("Mismatch"), { reason: "ConnectionMismatch" }],
  ["not before the ApiKey has a key", waiting("Waiting"), { reason: "WaitingForApiKey" }],
  ["not before the time has come", rested, { kind: "Settled", afterMs: 5_000 }],
  [
    "once in a run, even if that took longer than the interval",
    {},
    { kind: "Settled", afterMs: -30_000 },
    { quotas: [], startedAt: -90_000 },
  ],
  [
    "again after the pause of a rejection",
    {},
    { kind: "Waiting", reason: "Denied", afterMs: 60_000 },
    { refusal: { ...refusal, pauseMs: 1_000 }, startedAt: 0 },
  ],
])("quotas are listed %s", (_, seen, step, listing) => {
  const [first, last] = played(seen, listing);
  expect(listing === undefined ? first : last).toMatchObject(step);
});

test("a rejection without a pause waits for a change", () => {
  expect(played({}, { startedAt: 0, refusal })).toEqual([
    { kind: "ListQuotas" },
    { kind: "Waiting", ...refusal },
  ]);
});

describe("the credential", () => {
  const object = (kind: string, name: string, rest: object) => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, namespace: "team-a", uid: name, resourceVersion: "1" },
    ...rest,
  });
  const of = (kind: string) => ({ spec: { connectionRef: { kind, name: "elsewhere" } } });
  const accounts: Readonly<Record<string, object>> = {
    former: object("ServiceAccount", "former", { spec: {}, status: { saId: "sa-1" } }),
    next: object("ServiceAccount", "next", of("Connection")),
    invalid: object("ServiceAccount", "invalid", { spec: { name: 1 } }),
  };
  const apiKey = (name: string, current?: object) =>
    object("ApiKey", "ci", {
      spec: { serviceAccountRef: { name } },
      status: current && { current },
    });
  const choose = (key: object | undefined, connection: ConnectionRef = CONNECTION) =>
    chooseCredential(
      "ci",
      connection,
      key as unknown as ApiKey,
      (name) => accounts[name] as unknown as ServiceAccount,
    );
  const current = { keyId: "key-1", serviceAccount: "former", saId: "sa-1" };
  const elsewhere = { kind: "Connection", name: "elsewhere" } as const;

  test("is the connection's login without an ApiKey", () => {
    expect(chooseCredential(undefined, CONNECTION, undefined, () => undefined).kind).toBe("Bearer");
  });

  test.each<[string, object | undefined, string]>([
    ["that does not exist", undefined, "ApiKey ci does not exist."],
    ["with an invalid spec", object("ApiKey", "ci", { spec: {} }), "The spec of ApiKey ci"],
    ["of no account", apiKey("none"), "ServiceAccount none of ApiKey ci is missing"],
    ["of an invalid account", apiKey("invalid"), "ServiceAccount invalid of ApiKey ci"],
    ["without a key yet", apiKey("former"), "ApiKey ci does not have a key yet."],
    [
      "with a key of a former account",
      apiKey("former", { ...current, saId: "sa-9" }),
      "belongs to account sa-9",
    ],
  ])("is waited for if it is an ApiKey %s", (_, key, message) => {
    expect(choose(key)).toEqual({ kind: "Waiting", message: expect.stringContaining(message) });
  });

  test.each<[string, object, ConnectionRef, string]>([
    ["over its connection", apiKey("next", current), CONNECTION, "Key"],
    ["if its account is known by name only", apiKey("former", { keyId: "k" }), CONNECTION, "Key"],
    ["not over the connection of the next account", apiKey("next", current), elsewhere, "Mismatch"],
    [
      "not over a connection of the same kind",
      apiKey("former", current),
      { ...CONNECTION, name: "elsewhere" },
      "Mismatch",
    ],
    [
      "not over a connection of the same name",
      apiKey("former", current),
      { ...CONNECTION, kind: "Connection" },
      "Mismatch",
    ],
  ])("is a key, sent %s", (_, key, connection, kind) => {
    expect(choose(key, connection).kind).toBe(kind);
  });
});

const settled = { kind: "Settled" };
const suspended = { kind: "Suspended" };
const held = { kind: "Waiting", state: "Reconciling", reason: "Denied", message: "no" };
const failed = { kind: "Failed", error: new Error("no"), readiness: refusal };
const retried = { ...failed, readiness: { ...refusal, state: "Reconciling" } };

function reportOf(listing: object | undefined, outcome: object, status: object = {}) {
  const object = { metadata: { uid: "uid", generation: 1 }, status };
  const snapshot = { object, request: "now", spec: { clusterId: 7 }, intervalMs: 60_000 };
  const at = { now: 0, monotonic: 0, fraction: 0 };
  return report({ ...snapshot, listing } as never, outcome as never, at).objects[0];
}

test.each<[string, object | undefined, object, string | undefined]>([
  ["a whole listing handles it", { quotas: [] }, settled, "now"],
  ["an export that waits handles it too", undefined, held, "now"],
  ["so does one that is suspended", undefined, suspended, "now"],
  ["so does a failure that only a person ends", undefined, failed, "now"],
  ["a failure that is retried does not", undefined, retried, undefined],
])("a request: %s", (_, listing, outcome, handled) => {
  expect(reportOf(listing, outcome)?.handledRequest).toBe(handled);
});

const listedBefore = { lastSuccessTime: "then", total: 3 };
const usable = { ...listedBefore, conditions: [{ type: "Ready", status: "True" }] };
const refusedSince = { ...listedBefore, conditions: [{ type: "Ready", status: "False" }] };

test.each<[string, object | undefined, object, object, string]>([
  ["before the first listing", undefined, suspended, {}, "Stalled Suspended"],
  ["suspended with a listing", undefined, suspended, usable, "Ready Listed"],
  ["suspended after a refusal", undefined, suspended, refusedSince, "Stalled Suspended"],
  ["waiting with a listing", undefined, held, listedBefore, "Reconciling Denied"],
  ["after a listing", { quotas: [] }, settled, {}, "Ready Listed"],
  ["after a listing with too many", { quotas: [], omitted: 2 }, settled, {}, "Ready TooManySeries"],
])("an export %s says so", (_, listing, outcome, status, said) => {
  const { state, reason } = reportOf(listing, outcome, status)?.readiness ?? {};
  expect(`${state} ${reason}`).toBe(said);
});

test("the status shows a listing until the next one", () => {
  expect(reportOf({ quotas: [] }, settled, listedBefore)?.status).toEqual({
    lastSuccessTime: "1970-01-01T00:00:00Z",
    total: 0,
    quotas: [],
    truncated: false,
  });
  expect(reportOf(undefined, held, listedBefore)?.status).toEqual(listedBefore);
});

describe("a denied listing", () => {
  const error = new IamError("PermissionDenied", "no", { operation: "listResourceQuotas" });
  const explain = (status?: object) => {
    const credential = { kind: "Key", apiKey: { status: { current: { keyId: "k-1" } } } };
    return explainDenial(error, { ...credential, account: { status } } as never);
  };
  const check = "2. Check that one of them";

  test.each<[string, object | undefined, string, boolean]>([
    ["an account that is not synced", { saId: "sa-1" }, "account sa-1 is not known", true],
    ["no policy", { bindings: { policyCount: 0 } }, "1. No policy is bound", false],
    ["policies", { bindings: { policyCount: 2 } }, "has 2 policies bound", true],
  ])("names each possible cause, with %s", (_, status, first, checks) => {
    const text = explain(status);
    expect(text).toContain(first);
    expect(text.includes(check)).toBe(checks);
    expect(text).toContain("3. Key k-1 was issued for that account.");
    expect(text).toContain("4. This call ignores the partition header.");
  });

  test("asks for a policy of the connection's user, if its login was denied", () => {
    expect(explainDenial(error, { kind: "Bearer" })).toContain("The connection's user needs");
  });
});
