/** What a response proves, for every call that changes something: a new row of the table of calls has to fit too. */
import { describe, expect, test } from "vitest";
import type { ReadAnswer } from "../../../src/console/client/answers.ts";
import { type ExtraCalls, endpoints, extraEndpoints } from "../../../src/console/endpoints.ts";
import { commitOutcome, IamError } from "../../../src/console/errors.ts";
import {
  accountEffect,
  endEffect,
  pairEvidence,
  shownKey,
  syncEffect,
  unbindEffect,
} from "../../../src/console/evidence.ts";
import type { Exchanged } from "../../../src/console/exchange/failures.ts";
import { INTERCEPTIONS, intercepted } from "../../../tools/server-fault.ts";

const call = { method: "POST", path: "/keys/{saId}/{keyId}" } as const;
const configured: ExtraCalls = { disableKey: call, deleteKey: call, deleteServiceAccount: call };
const rows: Readonly<Record<string, { isMutating: boolean; read: unknown }>> = {
  ...endpoints,
  ...extraEndpoints(configured),
};
const changing = Object.entries(rows).filter(([, { isMutating }]) => isMutating);

/** The outcome of reading an answer: nothing, or the code of the error. */
async function read(operation: string, status: number, body: string): Promise<string> {
  const response = { status, headers: {}, body: Buffer.from(body) };
  const exchanged: Exchanged = { operation, response, secrets: [], receivedAt: 0 };
  const reader = rows[operation]?.read as ReadAnswer<unknown, unknown>;
  try {
    await reader(async () => exchanged, undefined);
    return "answered";
  } catch (error) {
    expect(commitOutcome(error)).toBe("Unknown");
    return (error as IamError).code;
  }
}

test("the calls that change something are these", () => {
  expect(changing.map(([name]) => name).toSorted()).toEqual([
    "createServiceAccount",
    "deleteKey",
    "deleteServiceAccount",
    "disableKey",
    "issueKey",
    "syncBindings",
  ]);
});

const errorReports = [
  '{"error":"blocked"}',
  '{"error":{"code":"WAF"}}',
  '{"errors":["blocked"]}',
  '{"detail":[{"msg":"no"}]}',
  '{"fault":{"faultstring":"no"}}',
  '{"code":403,"message":"no"}',
  '{"statusCode":"503"}',
  '{"status":"error"}',
  '{"type":"about:blank","title":"Forbidden","status":403}',
  '{"success":false}',
];
const pages = [
  "<html>",
  "OK",
  " \n<!doctype html>",
  '"ok"',
  "true",
  "17",
  '{"result":{}',
  "\u0000",
];

/** A call whose answer has to contain a record reads it: `answered` is what the table says about the others. */
const needsRecord = new Set(["createServiceAccount", "issueKey"]);

describe.each(changing)("%s", (operation) => {
  test.each([...pages, ...errorReports])("with status 200 is unanswered by %j", async (body) => {
    expect(await read(operation, 200, body)).toBe("MalformedResponse");
  });

  test.each([
    [204, ""],
    [200, ""],
    [200, " \n"],
    [202, "{}"],
    [200, "[]"],
    [200, "null"],
    [200, '{"message":null,"requestId":"r","result":{"boundCount":1}}'],
    [200, '{"message":"done","requestId":"r","result":{},"error":null,"errors":[]}'],
    [200, '{"targetType":"tpn","targetId":"t","policyIds":[]}'],
    [200, '{"keyId":"k","status":"inactive","code":0,"success":true}'],
  ])("with status %i is answered by %j, unless it needs a record", async (status, body) => {
    const expected = needsRecord.has(operation) ? "MalformedResponse" : "answered";
    expect(await read(operation, status, body)).toBe(expected);
  });

  test.each(INTERCEPTIONS)("intercepted by a gateway (%s)", async (how) => {
    const { status, body } = intercepted({ kind: "Intercept", how });
    const isPlain = how === "Page" || how === "JsonError";
    const expected = isPlain || needsRecord.has(operation) ? "MalformedResponse" : "answered";
    expect(await read(operation, status, body)).toBe(expected);
  });
});

test("a list of bindings that reports an error is no answer", async () => {
  expect(await read("listBindings", 200, '{"error":"blocked","data":[]}')).toBe(
    "MalformedResponse",
  );
});

const readable = (...policyIds: string[]) => ({ readable: true, policyIds }) as const;

test.each([
  [readable("a", "b"), ["b", "a"], "Shown"],
  [readable("a", "b"), ["a"], "NotShown"],
  [readable("a"), ["a", "b"], "NotShown"],
  [readable("a"), ["b"], "NotShown"],
  [readable("A ", "b"), ["a", "b"], "Shown"],
  [readable("A"), ["a", "b"], "NotShown"],
  [readable("A"), ["A", "a"], "NotShown"],
  [readable(), [], "Shown"],
  [{ readable: false } as const, [], "Unknown"],
])("after syncBindings, %j for %j is %s", (live, wanted, effect) => {
  expect(syncEffect(live, wanted, wanted)).toBe(effect);
});

test.each([
  ["a policy bound outside the operator is the declared one", readable("A"), ["A", "a"], "Shown"],
  ["both exist", readable("A", "a"), ["A", "a"], "Shown"],
  ["another one is left", readable("A", "B"), ["a"], "NotShown"],
])("in another spelling: %s", (_, live, wanted, effect) => {
  expect(syncEffect(live, wanted, ["a"])).toBe(effect);
});

test.each([
  [readable("x"), ["a"], "Shown"],
  [readable("x", "a"), ["a"], "NotShown"],
  [readable("x", "A"), ["a"], "NotShown"],
  [readable("x"), undefined, "NotShown"],
  [readable(), undefined, "Shown"],
  [{ readable: false } as const, undefined, "Unknown"],
])("after a revocation, %j for %j is %s", (live, policyIds, effect) => {
  expect(unbindEffect(live, policyIds)).toBe(effect);
});

test.each([
  [undefined, "Shown"],
  [{ saId: "sa-1" }, "NotShown"],
  [{ saId: "sa-1", status: "Active" }, "NotShown"],
  [{ saId: "sa-1", status: "deleted" }, "Unknown"],
])("after deleteServiceAccount, %j is %s", (shown, effect) => {
  expect(accountEffect(shown)).toBe(effect);
});

const listing = (state?: "Active" | "Inactive") => ({
  keyIds: ["k", "other"],
  keyRecords: new Map([["k", { state }]]),
});

test.each([
  ["account that is gone", undefined, false, "Absent", "Shown", "Shown"],
  ["answer without a list", { keyIds: undefined }, false, "Unknown", "Unknown", "Unknown"],
  ["list without the key", { keyIds: ["other"] }, false, "Absent", "Shown", "Shown"],
  ["list that lacks working keys", { keyIds: [] }, true, "Unknown", "Unknown", "Unknown"],
  ["key without a state", listing(), false, "Listed", "Unknown", "NotShown"],
  ["active key", listing("Active"), false, "Active", "NotShown", "NotShown"],
  ["active key in a short list", listing("Active"), true, "Active", "NotShown", "NotShown"],
  ["inactive key", listing("Inactive"), false, "Ended", "Shown", "Shown"],
] as const)("an %s: shows the effect or not", (_, detail, isBlind, shown, disabled, deleted) => {
  expect(shownKey(detail, "k", isBlind)).toBe(shown);
  expect([endEffect("disableKey", shown), endEffect("deleteKey", shown)]).toEqual([
    disabled,
    deleted,
  ]);
});

test.each([
  ["Unauthenticated", false, "Rejected"],
  ["PermissionDenied", true, "Accepted"],
  ["PermissionDenied", false, "LetIn"],
  ["InvalidArgument", false, "LetIn"],
  ["NotFound", false, undefined],
  ["MalformedResponse", false, undefined],
  ["Unavailable", false, undefined],
] as const)("%s (documented text: %s) about a pair is %s", (code, isPolicyDenied, evidence) => {
  expect(pairEvidence(new IamError(code, "", { operation: "", isPolicyDenied }))).toBe(evidence);
});
