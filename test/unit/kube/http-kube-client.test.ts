import { describe, expect, test } from "vitest";
import { HttpError, type HttpFailure } from "../../../src/http/http.ts";
import { createKubeClient } from "../../../src/kube/client/http-kube-client.ts";
import { KubeError, type KubeErrorCode } from "../../../src/kube/errors.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { configMapType, namespaceType, secretType } from "../../../src/kube/resource-types.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { type FakeAnswer, fakeSend } from "./fake-send.ts";

const clock = createFakeClock();
const now = clock.now();
const key = { namespace: "ns", name: "a" };
const thing = { metadata: { ...key, uid: "u", resourceVersion: "7" } };

function clientFor(...answers: readonly (FakeAnswer | Error)[]) {
  const { send, requests } = fakeSend(...answers);
  const fenced: number[] = [];
  let isLeading = true;
  const client = createKubeClient({
    baseURL: "https://server",
    send,
    clock,
    fieldManager: "iam-operator",
    userAgent: "iam-operator/1",
    beforeMutation: (timeoutMs) => {
      fenced.push(timeoutMs);
      if (!isLeading) throw new KubeError("NotLeading", "the lease may be lost");
    },
  });
  const lose = () => {
    isLeading = false;
  };
  return { client, requests, fenced, lose };
}

const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it was not refused");
    },
    (error: unknown) => {
      if (error instanceof KubeError) return error;
      throw error;
    },
  );

describe("requests", () => {
  const write = { body: { ...thing } };
  const data = { ...thing, data: { x: "1" } };
  type Client = ReturnType<typeof clientFor>["client"];

  test.each<[string, (client: Client) => Promise<unknown>, string, string | undefined]>([
    ["get", (c) => c.get(configMapType, key), "GET /api/v1/namespaces/ns/configmaps/a", undefined],
    [
      "get in the cluster",
      (c) => c.get(namespaceType, { namespace: "", name: "n" }),
      "GET /api/v1/namespaces/n",
      undefined,
    ],
    [
      "create",
      (c) => c.create(configMapType, data),
      "POST /api/v1/namespaces/ns/configmaps?fieldManager=iam-operator&fieldValidation=Ignore",
      "application/json",
    ],
    [
      "create, dry",
      (c) => c.create(configMapType, data, { dryRun: true }),
      "POST /api/v1/namespaces/ns/configmaps?fieldManager=iam-operator&fieldValidation=Ignore&dryRun=All",
      "application/json",
    ],
    [
      "apply",
      (c) => c.apply(configMapType, data),
      "PATCH /api/v1/namespaces/ns/configmaps/a?fieldManager=iam-operator&fieldValidation=Ignore&force=true",
      "application/apply-patch+yaml",
    ],
    [
      "apply to status",
      (c) => c.apply(configMapType, data, { subresource: "status", fieldManager: "other" }),
      "PATCH /api/v1/namespaces/ns/configmaps/a/status?fieldManager=other&fieldValidation=Ignore&force=true",
      "application/apply-patch+yaml",
    ],
    [
      "merge patch",
      (c) => c.mergePatch(configMapType, key, { data: {} }),
      "PATCH /api/v1/namespaces/ns/configmaps/a?fieldManager=iam-operator&fieldValidation=Ignore",
      "application/merge-patch+json",
    ],
    [
      "replace",
      (c) => c.replace(configMapType, data),
      "PUT /api/v1/namespaces/ns/configmaps/a?fieldManager=iam-operator&fieldValidation=Ignore",
      "application/json",
    ],
    [
      "delete",
      (c) => c.delete(configMapType, key, { uid: "u" }),
      "DELETE /api/v1/namespaces/ns/configmaps/a",
      "application/json",
    ],
  ])("%s", async (_, call, expected, contentType) => {
    const { client, requests } = clientFor(write);
    await call(client);
    const [request] = requests;
    expect(`${request?.method} ${request?.url.replace("https://server", "")}`).toBe(expected);
    expect(request?.headers["content-type"]).toBe(contentType);
    expect(request?.headers["user-agent"]).toBe("iam-operator/1");
    expect(request?.timeoutMs).toBe(request?.method === "GET" ? 15_000 : 5_000);
  });

  test("another group has its own root", async () => {
    const { client, requests } = clientFor({ body: thing });
    const type = { group: "g.io", version: "v1", plural: "foos", kind: "Foo", namespaced: true };
    await client.apply(type, thing);
    expect(requests[0]?.url).toContain("https://server/apis/g.io/v1/namespaces/ns/foos/a?");
    expect(JSON.parse(String(requests[0]?.body))).toEqual({
      ...thing,
      apiVersion: "g.io/v1",
      kind: "Foo",
    });
  });

  test("a deletion's options are in its body, where the server looks for them", async () => {
    const { client, requests } = clientFor({});
    await client.delete(configMapType, key, { uid: "u", resourceVersion: "7" }, { dryRun: true });
    expect(JSON.parse(String(requests[0]?.body))).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid: "u", resourceVersion: "7" },
      dryRun: ["All"],
    });
  });

  test.each(["", ".", ".."])(
    "the name %j is refused, since its path would mean something else",
    async (name) => {
      const { client, requests } = clientFor();
      expect((await refusalOf(client.get(configMapType, { namespace: "ns", name }))).code).toBe(
        "BadRequest",
      );
      expect(
        (await refusalOf(client.delete(configMapType, { namespace: "ns", name }, {}))).code,
      ).toBe("BadRequest");
      expect(requests).toEqual([]);
    },
  );

  test("a namespaced object without a namespace is refused", async () => {
    const { client } = clientFor();
    expect((await refusalOf(client.create(configMapType, { metadata: { name: "a" } }))).code).toBe(
      "BadRequest",
    );
  });
});

describe("the fence", () => {
  test("stands before every mutation and nothing else", async () => {
    const { client, fenced } = clientFor(
      ...Array.from({ length: 7 }, () => ({
        body: { ...thing, items: [], metadata: { ...thing.metadata } },
      })),
    );
    await client.get(configMapType, key);
    await client.list(configMapType);
    await client.create(configMapType, thing, { dryRun: true });
    expect(fenced).toEqual([]);
    await client.create(configMapType, thing);
    await client.apply(configMapType, thing);
    await client.replace(configMapType, thing);
    await client.delete(configMapType, key, {});
    expect(fenced).toEqual([5_000, 5_000, 5_000, 5_000]);
  });

  test("lets nothing through once the lease may be lost", async () => {
    const { client, requests, lose } = clientFor();
    lose();
    expect((await refusalOf(client.mergePatch(configMapType, key, {}))).code).toBe("NotLeading");
    expect(requests).toEqual([]);
  });

  test("is asked again when a write leaves", async () => {
    const { client, requests, lose } = clientFor({ body: { ...thing } }, { body: { ...thing } });
    await client.replace(configMapType, thing);
    await client.create(configMapType, thing, { dryRun: true });
    const [written, rehearsed] = requests;
    expect(rehearsed?.beforeSending).toBeUndefined();
    expect(() => written?.beforeSending?.()).not.toThrow();
    lose();
    expect(() => written?.beforeSending?.()).toThrow(KubeError);
  });

  test("that closes as a write leaves is what the caller hears of", async () => {
    let asked = 0;
    const client = createKubeClient({
      baseURL: "https://server",
      send: async ({ beforeSending }) => {
        try {
          beforeSending?.();
        } catch (cause) {
          throw new HttpError("refused", "not sent", { cause });
        }
        throw new Error("it was sent");
      },
      clock,
      fieldManager: "iam-operator",
      userAgent: "iam-operator/1",
      beforeMutation: () => {
        asked += 1;
        if (asked === 2) throw new KubeError("NotLeading", "the lease may be lost");
      },
    });
    expect((await refusalOf(client.create(configMapType, thing))).code).toBe("NotLeading");
  });
});

describe("refusals", () => {
  test.each<[number, string | undefined, KubeErrorCode]>([
    [301, undefined, "MalformedResponse"],
    [400, "BadRequest", "BadRequest"],
    [401, "Unauthorized", "Unauthenticated"],
    [403, "Forbidden", "Forbidden"],
    [404, undefined, "NotFound"],
    [405, "MethodNotAllowed", "BadRequest"],
    [409, "Conflict", "Conflict"],
    [409, "AlreadyExists", "AlreadyExists"],
    [410, "Gone", "Gone"],
    [410, "Expired", "Gone"],
    [413, "RequestEntityTooLarge", "BadRequest"],
    [415, "UnsupportedMediaType", "BadRequest"],
    [422, "Invalid", "Invalid"],
    [429, "TooManyRequests", "RateLimited"],
    [500, "InternalError", "Unavailable"],
    [502, undefined, "Unavailable"],
    [503, "ServiceUnavailable", "Unavailable"],
    [504, "Timeout", "Timeout"],
  ])("%i %s is %s", async (status, reason, code) => {
    const body = { kind: "Status", code: status, reason, message: "no way" };
    const { client } = clientFor({ status, body: reason === undefined ? "<html>" : body });
    const error = await refusalOf(client.create(configMapType, thing));
    expect(error).toMatchObject({ code, status, reason });
    expect(error.message).toBe(
      `create configmaps ns/a: ${reason === undefined ? `status ${status}` : "no way"}`,
    );
  });

  test("a UID that differs is a conflict, though the server calls it invalid", async () => {
    const details = { causes: [{ reason: "FieldValueInvalid", field: "metadata.uid" }] };
    const { client } = clientFor({
      status: 422,
      body: { kind: "Status", reason: "Invalid", details },
    });
    expect((await refusalOf(client.apply(configMapType, thing))).code).toBe("Conflict");
  });

  test.each<[string, FakeAnswer, number | undefined]>([
    ["seconds", { headers: { "retry-after": "7" } }, now + 7_000],
    ["a date", { headers: { "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT" } }, now + 60_000],
    [
      "a date that is past",
      { headers: { "retry-after": "Wed, 31 Dec 2025 00:01:00 GMT" } },
      undefined,
    ],
    ["nonsense", { headers: { "retry-after": "soon" } }, undefined],
    ["the status", { body: { kind: "Status", details: { retryAfterSeconds: 3 } } }, now + 3_000],
    [
      "both",
      {
        headers: { "retry-after": "1" },
        body: { kind: "Status", details: { retryAfterSeconds: 3 } },
      },
      now + 3_000,
    ],
  ])("Retry-After as %s", async (_, answer, retryAt) => {
    const { client } = clientFor({ status: 429, ...answer });
    expect((await refusalOf(client.get(configMapType, key))).retryAt).toBe(retryAt);
  });

  test.each<[HttpFailure, KubeErrorCode]>([
    ["refused", "Unavailable"],
    ["forbidden", "Unavailable"],
    ["network", "Unavailable"],
    ["timeout", "Timeout"],
    ["aborted", "Timeout"],
    ["tooLarge", "MalformedResponse"],
  ])("no answer: %s is %s", async (failure, code) => {
    const { client } = clientFor(new HttpError(failure, "it failed"));
    const error = await refusalOf(client.get(configMapType, key));
    expect([error.code, error.message]).toEqual([code, "get configmaps ns/a: it failed"]);
  });

  test.each(["", "not json", "[]", "null", "{}", '{"metadata":{}}'])(
    "a success with %j is malformed",
    async (body) => {
      const { client } = clientFor({ body });
      expect((await refusalOf(client.get(configMapType, key))).code).toBe("MalformedResponse");
    },
  );

  test("a message is one bounded line", async () => {
    const { client } = clientFor({
      status: 403,
      body: { kind: "Status", message: `a\n  b${"x".repeat(5000)}` },
    });
    const { message } = await refusalOf(client.get(configMapType, key));
    expect(message).toMatch(/^get configmaps ns\/a: a bx+…$/);
    expect(message.length).toBeLessThan(600);
  });

  test("a body that is not a Status leaves no trace", async () => {
    const { client } = clientFor({ status: 500, body: { secret: "canary" } });
    const error = await refusalOf(client.get(configMapType, key));
    expect(JSON.stringify([error, error.message, error.stack])).not.toContain("canary");
  });

  test("a Secret's values are kept out of what the server says about it", async () => {
    const values = { plain: "canary-one", other: "canary-two" };
    const encoded = Buffer.from(values.other).toString("base64");
    const said = `data: "${encoded}" stringData: canary-one, ${Buffer.from("canary-one").toString("base64")}, canary-two`;
    const { client } = clientFor({ status: 400, body: { kind: "Status", message: said } });
    const secret = { ...thing, stringData: { plain: values.plain }, data: { other: encoded } };
    const { message } = await refusalOf(client.create(secretType, secret));
    expect(message).toBe(
      'create secrets ns/a: data: "<redacted>" stringData: <redacted>, <redacted>, <redacted>',
    );
  });
});

describe("absence", () => {
  const absent = { status: 404, body: { kind: "Status", code: 404, reason: "NotFound" } };

  test("is no error where the API server says so", async () => {
    const { client } = clientFor(absent, absent, absent);
    expect(await client.get(configMapType, key)).toBeUndefined();
    await client.delete(configMapType, key, {});
  });

  test("of a deleted object is confirmed by a read", async () => {
    const found = { body: { ...thing, metadata: { ...thing.metadata, uid: "u" } } };
    const { client } = clientFor(absent, found, absent, found, absent, { status: 500 });
    const deletion = (uid: string) => client.delete(configMapType, key, { uid });
    expect((await refusalOf(deletion("u"))).code).toBe("Unavailable");
    await deletion("of an earlier object");
    expect((await refusalOf(deletion("u"))).code).toBe("Unavailable");
  });

  test("is not believed of a proxy, nor of a kind that is not installed", async () => {
    const { client } = clientFor({ status: 404, body: "404 page not found" }, { status: 404 });
    expect((await refusalOf(client.get(configMapType, key))).code).toBe("NotFound");
    expect((await refusalOf(client.delete(configMapType, key, {}))).code).toBe("NotFound");
  });
});

describe("a listing", () => {
  const page = (token: string | undefined, ...names: string[]) => ({
    body: {
      metadata: { resourceVersion: "9", ...(token === undefined ? {} : { continue: token }) },
      items: names.map((name) => ({ metadata: { name } })),
    },
  });

  test("reads every page, and gives every object its kind", async () => {
    const { client, requests } = clientFor(page("more", "a"), page("", "b"));
    expect(await client.list(configMapType, { namespace: "ns", labelSelector: "x=1" })).toEqual([
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" } },
    ]);
    expect(requests.map(({ url }) => url.replace("https://server/api/v1", ""))).toEqual([
      "/namespaces/ns/configmaps?labelSelector=x%3D1&limit=500",
      "/namespaces/ns/configmaps?labelSelector=x%3D1&limit=500&continue=more",
    ]);
  });

  test("keeps only what is made of its objects, where that is said", async () => {
    const { client, requests } = clientFor(page("more", "a", "b"), page("", "c"));
    const digest = ({ kind, metadata: { name } }: KubeObject) =>
      name === "b" ? undefined : `${kind} ${name}`;
    const options = { namespace: "ns", fieldSelector: "x!=1" };
    expect(await client.collect(configMapType, digest, options)).toEqual([
      "ConfigMap a",
      "ConfigMap c",
    ]);
    expect(requests[1]?.url).toBe(
      "https://server/api/v1/namespaces/ns/configmaps?fieldSelector=x!%3D1&limit=500&continue=more",
    );
  });

  test("asks for metadata alone, where that is enough", async () => {
    const { client, requests } = clientFor(page("", "a"), page("", "a"));
    for (const metadataOnly of [true, false])
      await client.collect(secretType, ({ metadata }) => metadata.name, { metadataOnly });
    const isPartial = requests.map(({ headers }) =>
      JSON.stringify(headers).includes("as=PartialObjectMetadataList"),
    );
    expect(isPartial).toEqual([true, false]);
  });

  test("is all or nothing", async () => {
    const expired = { status: 410, body: { kind: "Status", reason: "Expired" } };
    const { client } = clientFor(page("more", "a"), expired);
    expect((await refusalOf(client.list(configMapType))).code).toBe("Gone");
    const again = clientFor(page("more", "a"), expired);
    const name = ({ metadata }: KubeObject) => metadata.name;
    expect((await refusalOf(again.client.collect(configMapType, name))).code).toBe("Gone");
  });

  test("asks for fewer objects at a time if they are too large for one answer", async () => {
    const tooLarge = new HttpError("tooLarge", "more than 8 MiB");
    const answers = [page("more", "a"), tooLarge, tooLarge, page("last", "b"), page("", "c")];
    const { client, requests } = clientFor(...answers);
    expect(await client.list(configMapType)).toHaveLength(3);
    expect(requests.map(({ url }) => url.split("?")[1])).toEqual([
      "limit=500",
      "limit=500&continue=more",
      "limit=250&continue=more",
      "limit=125&continue=more",
      "limit=125&continue=last",
    ]);
  });

  test("fails if a single object is too large", async () => {
    const tooLarge = Array.from({ length: 9 }, () => new HttpError("tooLarge", "more than 8 MiB"));
    const { client, requests } = clientFor(...tooLarge);
    expect((await refusalOf(client.list(configMapType))).code).toBe("MalformedResponse");
    expect(requests.at(-1)?.url).toContain("limit=1");
  });

  test("does not go round in circles", async () => {
    const { client } = clientFor(page("more", "a"), page("more", "b"));
    expect((await refusalOf(client.list(configMapType))).code).toBe("MalformedResponse");
  });

  test("of nothing may be null", async () => {
    const { client } = clientFor({ body: { metadata: { resourceVersion: "9" }, items: null } });
    expect(await client.list(configMapType)).toEqual([]);
  });
});

describe("a UID as precondition of a status apply, which the server ignores", () => {
  const onStatus = { subresource: "status" } as const;
  const meant = { metadata: { ...key, uid: "u" } };

  test("is turned into the version of the object that has it", async () => {
    const { client, requests } = clientFor({ body: thing }, { body: thing });
    await client.apply(configMapType, meant, onStatus);
    expect(requests.map(({ method }) => method)).toEqual(["GET", "PATCH"]);
    expect(JSON.parse(String(requests[1]?.body)).metadata).toEqual(thing.metadata);
  });

  test("refuses another object, and none", async () => {
    const absent = { status: 404, body: { kind: "Status", reason: "NotFound" } };
    const { client } = clientFor({ body: { metadata: { ...key, uid: "other" } } }, absent);
    expect((await refusalOf(client.apply(configMapType, meant, onStatus))).code).toBe("Conflict");
    expect((await refusalOf(client.apply(configMapType, meant, onStatus))).code).toBe("NotFound");
  });
});
