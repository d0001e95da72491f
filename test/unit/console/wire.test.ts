import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { listAllAccounts, quotas, readAllPages } from "../../../src/console/client/all-pages.ts";
import type { Exchanged } from "../../../src/console/exchange/failures.ts";
import { readServerText } from "../../../src/console/exchange/server-text.ts";
import type { Json, Quota } from "../../../src/console/model.ts";
import { type QuotaPage, readActions, readQuotaPage } from "../../../src/console/wire/catalogue.ts";
import { parseJson } from "../../../src/console/wire/json.ts";
import { readListing, readWholeListing } from "../../../src/console/wire/listing.ts";
import { readLogin } from "../../../src/console/wire/login.ts";
import { readBindings, readPolicies } from "../../../src/console/wire/policy.ts";
import {
  readKeyPair,
  readServiceAccount,
  readServiceAccountDetail,
  readServiceAccounts,
} from "../../../src/console/wire/service-account.ts";
import { ShapeError } from "../../../src/console/wire/shape-error.ts";

const TPN = "tpn:r:org-1:prj-1:sa/sa-1";

/** The value, or "ShapeError". */
function outcomeOf<T>(read: () => T): T | "ShapeError" {
  try {
    return read();
  } catch (error) {
    if (error instanceof ShapeError) return "ShapeError";
    throw error;
  }
}

const envelope = (result: Json): Json => ({ message: null, requestId: "req-1", result });
const page = (data: readonly Json[], pagination: { readonly [key: string]: Json } = {}): Json =>
  envelope({
    data,
    dataCount: data.length,
    pagination: {
      page: 1,
      pageSize: 100,
      totalCount: data.length,
      totalPages: 1,
      hasNext: false,
      hasPrev: false,
      ...pagination,
    },
  });

describe("bindings of a target (call 9)", () => {
  const read = (...policyIds: string[]) => ({ readable: true, policyIds });
  const doubt = { readable: false };
  test.each<[string, Json, unknown]>([
    [
      "a list of bindings",
      page([{ policyId: "a", targetId: TPN }, { policyId: "b" }]),
      read("a", "b"),
    ],
    ["a list of policies", page([{ id: "a", name: "x" }]), read("a")],
    ["policies inside bindings", page([{ id: "binding-1", policy: { id: "a" } }]), read("a")],
    ["a policy as text inside a binding", page([{ id: "binding-1", policy: "a" }]), read("a")],
    [
      "a binding of several policies",
      page([{ targetId: TPN, policyIds: ["a", "b"] }]),
      read("a", "b"),
    ],
    ["ids in an envelope", envelope({ policyIds: ["a", "b"] }), read("a", "b")],
    ["ids without an envelope", { targetId: TPN, policyIds: ["a"] }, read("a")],
    ["a bare array of ids", ["a", "b"], read("a", "b")],
    ["an array of ids in an envelope", envelope(["a"]), read("a")],
    ["a bare array of bindings", [{ policyId: "a" }], read("a")],
    ["two lists that agree", envelope({ policyIds: ["a"], policies: [{ id: "a" }] }), read("a")],
    ["an id twice", ["a", "a"], read("a")],
    ["an explicit empty list", page([]), read()],
    ["an empty bare array", [], read()],
    ["no data and a count of 0", envelope({ dataCount: 0, pagination: {} }), read()],
    ["two lists that differ", envelope({ policyIds: ["a"], policies: [{ id: "b" }] }), doubt],
    ["an empty and a filled list", envelope({ policyIds: [], policies: [{ id: "b" }] }), doubt],
    ["one record without an id", page([{ policyId: "a" }, { name: "b" }]), doubt],
    ["an empty id", [""], doubt],
    ["a number", [1], doubt],
    ["a binding with an id of its own only", page([{ id: "binding-1", targetId: TPN }]), doubt],
    ["a binding of another target", page([{ policyId: "a", targetId: "tpn:other" }]), doubt],
    ["an answer about another target", { targetId: "tpn:other", policyIds: ["a"] }, doubt],
    ["a summary", envelope({ summary: "2 bound" }), doubt],
    ["null", null, doubt],
    ["a text", "a", doubt],
    ["an envelope of null", envelope(null), doubt],
    ["a page with a next one", page([{ policyId: "a" }], { hasNext: true }), "ShapeError"],
    ["fewer than the total", page([{ policyId: "a" }], { totalCount: 2 }), "ShapeError"],
    ["an empty page of a filled list", page([], { totalCount: 2 }), "ShapeError"],
    ["no data and a count of 1", envelope({ dataCount: 1 }), "ShapeError"],
    ["another count than records", envelope({ data: ["a"], dataCount: 2 }), "ShapeError"],
  ])("%s", (_name, json, expected) => {
    expect(outcomeOf(() => readBindings(json, TPN))).toEqual(expected);
  });
});

describe("keys of an account (call 4)", () => {
  test.each<[string, Json, readonly string[] | undefined]>([
    ["records with keyId", [{ keyId: "a" }, { keyId: "b", status: "expired" }], ["a", "b"]],
    ["records with id", [{ id: "a" }], ["a"]],
    ["keyId before id", [{ id: "1", keyId: "a" }], ["a"]],
    ["texts", ["a", "b"], ["a", "b"]],
    ["a deleted key", [{ keyId: "a", status: "deleted" }], ["a"]],
    ["none", [], []],
    ["a list inside a list result", { data: [{ keyId: "a" }], dataCount: 1 }, ["a"]],
    ["a part of a list", { data: [{ keyId: "a" }], pagination: { hasNext: true } }, undefined],
    ["one without an id", [{ keyId: "a" }, {}], undefined],
    ["an empty id", [""], undefined],
    ["null", null, undefined],
    ["a number", 3, undefined],
  ])("%s", (_name, keys, expected) => {
    for (const json of [{ saId: "sa-1", keys }, envelope({ saId: "sa-1", keys })]) {
      expect(readServiceAccountDetail(json, "sa-1").keyIds).toEqual(expected);
    }
  });

  test.each<[string, Json, object | undefined]>([
    ["nothing", { keyId: "a" }, undefined],
    ["a description", { keyId: "a", description: "k8s x/y#z" }, { description: "k8s x/y#z" }],
    ["a state", { id: "a", status: "expired" }, { state: "Inactive" }],
    ["a word that proves nothing", { id: "a", status: "locked" }, undefined],
    [
      "texts that are too long, or no texts",
      { keyId: "a", description: 1, status: "x".repeat(5_000) },
      undefined,
    ],
    ["no record", "a", undefined],
  ])("what a record shows in addition: %s", (_name, record, expected) => {
    const { keyIds, keyRecords } = readServiceAccountDetail(
      { saId: "sa-1", keys: [record] },
      "sa-1",
    );
    expect(keyIds).toEqual(["a"]);
    expect(keyRecords?.get("a")).toEqual(expected);
  });

  test("absent", () => {
    expect(readServiceAccountDetail({ saId: "sa-1" }, "sa-1").keyIds).toBeUndefined();
  });
});

describe("an issued key (call 5)", () => {
  test.each<[string, Json, string]>([
    ["bare, as documented", { keyId: "sak_1", secret: "s" }, "sak_1 s"],
    ["in an envelope", envelope({ keyId: "sak_1", secret: "s" }), "sak_1 s"],
    [
      "with another prefix and length",
      { keyId: "1", secret: "s".repeat(99) },
      `1 ${"s".repeat(99)}`,
    ],
    ["beside a result of its own", { keyId: "k", secret: "s", result: { ok: true } }, "k s"],
    ["without a secret", { keyId: "k" }, "ShapeError"],
    ["with an empty secret", { keyId: "k", secret: "" }, "ShapeError"],
    ["without an id", { secret: "s" }, "ShapeError"],
    ["with a number for an id", { keyId: 1, secret: "s" }, "ShapeError"],
  ])("%s", (_name, json, expected) => {
    const pair = outcomeOf(() => readKeyPair(json));
    expect(pair === "ShapeError" ? pair : `${pair.keyId} ${pair.secret.reveal()}`).toBe(expected);
  });
});

describe("the lifetime of an issued key", () => {
  const time = "2026-04-01T00:00:00Z";
  const expiresAt = Date.parse(time);

  test.each<[string, object, object]>([
    ["absent", {}, {}],
    ["in days", { expiresInDays: 1 }, { lifetimeMs: 86_400_000 }],
    ["in no whole days", { expiresInDays: 1.5 }, {}],
    ["without a day", { expiresInDays: 0 }, {}],
    ["as a text", { expiresInDays: "1" }, {}],
    ["as a time", { expiresAt: time }, { expiresAt }],
    ["as a time of another zone", { expiresAt: "2026-04-01T02:00:00.000+02:00" }, { expiresAt }],
    ["as a time without a zone", { expiresAt: "2026-04-01T00:00:00" }, {}],
    ["as a date", { expiresAt: "2026-04-01" }, {}],
    ["as a number", { expiresAt: expiresAt / 1_000 }, {}],
    ["as null", { expiresInDays: null, expiresAt: null }, {}],
  ])("%s", (_name, fields, expected) => {
    const answer = { keyId: "k", secret: "s", ...fields } as Json;
    expect(readKeyPair(answer).lifetime).toEqual(expected);
    expect(readKeyPair(envelope(answer)).lifetime).toEqual(expected);
  });
});

describe("a login (call 1)", () => {
  test.each<[string, Json, string]>([
    ["with a token", envelope({ accessToken: "t", mfaRequired: false }), "Token"],
    ["with a token alone", { accessToken: "t" }, "Token"],
    ["with a second factor", envelope({ accessToken: null, mfaRequired: true }), "MfaRequired"],
    ["with both", envelope({ accessToken: "t", mfaRequired: true }), "MfaRequired"],
    ["with neither", envelope({ accessToken: null, mfaRequired: false }), "ShapeError"],
    ["with an empty token", envelope({ accessToken: "" }), "ShapeError"],
    ["with the longest token", { accessToken: "t".repeat(16_384) }, "Token"],
    ["with a token longer than a header", { accessToken: "t".repeat(16_385) }, "ShapeError"],
    ["with a token of two lines", envelope({ accessToken: "a\nb" }), "ShapeError"],
    ["with an array", [], "ShapeError"],
  ])("%s", (_name, json, expected) => {
    const login = outcomeOf(() => readLogin(json));
    expect(login === "ShapeError" ? login : login.kind).toBe(expected);
  });
});

describe("accounts and policies", () => {
  test("fields of another type are left out, and unknown fields are ignored", () => {
    expect(
      readServiceAccount({ saId: "sa-1", tpn: 3, status: null, name: "n", extra: [] }),
    ).toEqual({ saId: "sa-1", name: "n" });
  });

  test.each<[string, Json, unknown]>([
    ["in an envelope", page([{ saId: "a" }]), [{ saId: "a" }]],
    ["as a bare array", [{ saId: "a" }], [{ saId: "a" }]],
    ["under a name of their own", envelope({ serviceAccounts: [{ saId: "a" }] }), [{ saId: "a" }]],
    ["with a total", envelope({ items: [{ saId: "a" }], total: 1 }), [{ saId: "a" }]],
    ["with a larger total", envelope({ items: [{ saId: "a" }], total: 2 }), "ShapeError"],
    ["with a next page", page([{ saId: "a" }], { hasNext: true }), "ShapeError"],
    [
      "with a later page and no hasNext",
      page([{ saId: "a" }], { hasNext: null, totalPages: 2 }),
      "ShapeError",
    ],
    ["with a next page as text", page([{ saId: "a" }], { hasNext: "true" }), "ShapeError"],
    ["with pages and no position", { data: [{ saId: "a" }], totalPages: 2 }, "ShapeError"],
    ["with a larger total as text", { items: [{ saId: "a" }], total: "2" }, "ShapeError"],
    ["with a total beside a bare list", { result: [{ saId: "a" }], totalCount: 2 }, "ShapeError"],
    ["with more", { items: [{ saId: "a" }], hasMore: true }, "ShapeError"],
    ["with the number of a next page", { items: [{ saId: "a" }], nextPage: 2 }, "ShapeError"],
    ["with a cursor", { items: [{ saId: "a" }], cursor: "x" }, "ShapeError"],
    ["with a link", { items: [{ saId: "a" }], links: { next: "/x?page=2" } }, "ShapeError"],
    [
      "with a cursor after all",
      { items: [{ saId: "a" }], total: "1", cursor: "x" },
      [{ saId: "a" }],
    ],
    [
      "with nothing that follows",
      { items: [{ saId: "a" }], next: null, nextPage: 0, cursor: "", _links: {} },
      [{ saId: "a" }],
    ],
    ["one without saId", page([{ saId: "a" }, {}]), "ShapeError"],
    ["no list", envelope({}), "ShapeError"],
  ])("accounts %s", (_name, json, expected) => {
    expect(outcomeOf(() => readServiceAccounts(json))).toEqual(expected);
  });

  test("policies by either name of their fields", () => {
    const records = [
      { id: "a", type: "scp" },
      { policyId: "b", name: "B", kind: "custom" },
    ];
    expect(readPolicies(page(records))).toEqual([
      { policyId: "a", kind: "scp" },
      { policyId: "b", name: "B", kind: "custom" },
    ]);
  });
});

describe("pages of quotas (call 12)", () => {
  const quota = (name: string): Quota => ({
    name,
    namespace: "n",
    status: undefined,
    displayRequest: "",
    displayLimit: "",
    createdAt: "2026-01-01T00:00:00Z",
  });
  const at = (
    number: number,
    names: string[],
    totalCount: number,
    hasNext: boolean,
  ): QuotaPage => ({
    page: number,
    hasNext,
    totalCount,
    records: names.map(quota),
  });
  const readAll = (...pages: QuotaPage[]) =>
    readAllPages(
      async (number) => pages[number - 1] ?? at(number, [`q-${number}`], 9_999, true),
      quotas,
    ).then(
      (found) => found.map(({ name }) => name),
      (error: Error) => error.message,
    );

  test.each<[string, QuotaPage[], unknown]>([
    ["one page", [at(1, ["a", "b"], 2, false)], ["a", "b"]],
    ["none", [at(1, [], 0, false)], []],
    ["two pages", [at(1, ["a"], 2, true), at(2, ["b"], 2, false)], ["a", "b"]],
    [
      "a total that changes",
      [at(1, ["a"], 2, true), at(2, ["b", "c"], 3, false)],
      "totalCount changed between pages",
    ],
    [
      "an early end",
      [at(1, ["a"], 2, true), at(2, [], 2, false)],
      "totalCount is not the number of records",
    ],
    ["an empty page with a next one", [at(1, [], 2, true)], "an empty page has a next page"],
    [
      "a repeated record",
      [at(1, ["a"], 2, true), at(2, ["a"], 2, false)],
      "a record is listed on two pages",
    ],
    ["the wrong page", [at(2, ["a"], 1, false)], "this is another page"],
    [
      "no pagination",
      [{ ...at(1, ["a"], 1, false), hasNext: undefined }],
      "the answer lacks pagination",
    ],
    ["no end", [at(1, ["q-1"], 9_999, true)], "the list does not end"],
  ])("%s", async (_name, pages, expected) => {
    expect(await readAll(...pages)).toEqual(expected);
  });

  test("a record must be complete, but its status can be null", () => {
    const { status: _, ...record } = quota("a");
    expect(readQuotaPage(page([{ ...record, status: null }])).records).toEqual([quota("a")]);
    expect(outcomeOf(() => readQuotaPage(page([{ ...record, name: 3 }])))).toBe("ShapeError");
  });
});

describe("pages of accounts", () => {
  const ids = (...saIds: string[]) => saIds.map((saId) => ({ saId }));
  /** The pages in turn, each time that the list is read. */
  const readAll = async (...reads: Json[][]) => {
    let [read, sent] = [-1, 0];
    const send = async (number: number): Promise<Exchanged> => {
      if (number === 1) read += 1;
      sent += 1;
      const json = reads[Math.min(read, reads.length - 1)]?.[number - 1] ?? [];
      const response = { status: 200, headers: {}, body: Buffer.from(JSON.stringify(json)) };
      return { operation: "listServiceAccounts", response, secrets: [], receivedAt: 0 };
    };
    const found = await listAllAccounts(send, undefined).then(
      (accounts) => accounts.map(({ saId }) => saId).join(" "),
      (error: Error) => error.message.split(": ")[1],
    );
    return [found, sent];
  };
  const items = (records: Json[], total: number) => ({ items: records, total });

  test.each<[string, Json[][], string, number]>([
    ["bare pages, until an empty one", [[ids("a", "b"), ids("c")]], "a b c", 3],
    ["none", [[[]]], "", 1],
    ["with a total", [[items(ids("a"), 2), items(ids("b"), 2)]], "a b", 2],
    [
      "with the number of pages",
      [[1, 2].map((n) => ({ data: ids(`${n}`), totalPages: 2 }))],
      "1 2",
      3,
    ],
    ["all in one", [[page(ids("a", "b"))]], "a b", 1],
    [
      "a list that changes meanwhile is read again",
      [[items(ids("a"), 2), items(ids("b"), 3)], [items(ids("a", "b", "c"), 3)]],
      "a b c",
      3,
    ],
    [
      "one that changes each time is given up",
      [[items(ids("a"), 2), items(ids("b"), 3)]],
      "totalCount changed between pages",
      6,
    ],
    ["an ignored parameter", [[ids("a"), ids("a")]], "a record is listed on two pages", 2],
    [
      "an early end",
      [[items(ids("a"), 2), items([], 2)]],
      "totalCount is not the number of records",
      2,
    ],
  ])("%s", async (_, reads, expected, calls) => {
    expect(await readAll(...reads)).toEqual([expected, calls]);
  });
});

describe("a server's text", () => {
  test.each<[string, string, string | undefined]>([
    ["message", '{"message":"Policy denied","result":null}', "Policy denied"],
    ["detail", '{"detail":"no"}', "no"],
    ["a list of details", '{"detail":[{"loc":["body"],"msg":"a"},{"msg":"b"}]}', "a; b"],
    ["an error object", '{"error":{"code":3,"message":"m"}}', "m"],
    ["plain text", "gateway is down", "gateway is down"],
    ["a page", "<html><body>502</body></html>", undefined],
    ["broken JSON", '{"keyId":"a","secret":"b', undefined],
    ["bytes", "\u0000\uFFFD", undefined],
    ["nothing", "", undefined],
    ["a number", "3", undefined],
  ])("%s", (_name, body, expected) => {
    expect(readServerText(Buffer.from(body)).message).toBe(expected);
  });
});

describe("JSON", () => {
  test.each<[string, string, unknown]>([
    ["64 levels", `${"[".repeat(64)}${"]".repeat(64)}`, "an array"],
    ["65 levels", `${"[".repeat(65)}${"]".repeat(65)}`, undefined],
    ["a million levels", "[".repeat(1_000_000), undefined],
    ["brackets in a text", JSON.stringify("[".repeat(100)), "[".repeat(100)],
    [
      "brackets after an escaped quote",
      JSON.stringify(`"${"{".repeat(100)}`),
      `"${"{".repeat(100)}`,
    ],
    ["a byte order mark", "\uFEFF3", 3],
    ["as many values as are read", `[${"0,".repeat(199_998)}0]`, "an array"],
    ["more values than are read", `[${"0,".repeat(199_999)}0]`, undefined],
    ["commas in a text", JSON.stringify(",".repeat(300_000)), ",".repeat(300_000)],
    ["nothing", "", undefined],
    ["a part", '{"a":', undefined],
  ])("%s", (_name, text, expected) => {
    const json = parseJson(Buffer.from(text));
    expect(Array.isArray(json) ? "an array" : json).toEqual(expected);
  });
});

test("for any JSON, a parser throws only ShapeError", () => {
  const parsers: readonly ((json: Json) => unknown)[] = [
    readServiceAccount,
    readServiceAccounts,
    (json) => readServiceAccountDetail(json, "a"),
    readKeyPair,
    readPolicies,
    (json) => readBindings(json, TPN),
    readQuotaPage,
    readActions,
    readLogin,
    readListing,
    readWholeListing,
    (json) => readServerText(Buffer.from(JSON.stringify(json))),
  ];
  const names = ["result", "data", "pagination", "dataCount", "hasNext", "totalCount", "keys"];
  const more = ["saId", "policyId", "policyIds", "policy", "id", "keyId", "secret", "message"];
  const field = fc.constantFrom(...names, ...more, "__proto__", "constructor", "toString");
  const { json } = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<Json>(null, true, 0, -1, 1e308, "", "a", "\ud800"),
      fc.array(tie("json"), { maxLength: 4 }),
      fc.dictionary(field, tie("json"), { maxKeys: 6, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(json, (value) => {
      for (const parse of parsers) outcomeOf(() => parse(value));
    }),
    { numRuns: 3_000 },
  );
});

test("for any bytes, the readers of bodies do not throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      parseJson(Buffer.from(bytes));
      readServerText(Buffer.from(bytes));
    }),
    { numRuns: 2_000 },
  );
});
