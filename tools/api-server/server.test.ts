import { beforeEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { keepHouse } from "./housekeeping.ts";
import { mergedOrder } from "./merge-list.ts";
import { ApiServer, randomUid } from "./server.ts";
import { type Tree, treeAt } from "./tree.ts";

let server: ApiServer;
const SECRETS = "/api/v1/namespaces/n/secrets";

beforeEach(() => {
  const random = seededRandom(1);
  server = new ApiServer({ now: () => 0, newUid: () => randomUid(random) });
  call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
});

function call(method: string, path: string, body?: Tree, contentType = "application/json") {
  return server.handle({
    method,
    url: `http://kube${path}`,
    headers: { "content-type": contentType },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

function createSecret(name: string, metadata: Tree = {}, data: Tree = { a: "MQ==" }) {
  return call("POST", `${SECRETS}?fieldManager=me`, { metadata: { name, ...metadata }, data });
}

describe("housekeeping, which the comparison with a real API server leaves out", () => {
  test("a finalizer holds a deletion until it is taken away", () => {
    createSecret("s", { finalizers: ["example.com/hold"] });
    expect(treeAt(call("DELETE", `${SECRETS}/s`).body, "metadata").deletionTimestamp).toBeDefined();
    const free = { metadata: { finalizers: [] } };
    call("PATCH", `${SECRETS}/s`, free, "application/merge-patch+json");
    expect(call("GET", `${SECRETS}/s`).status).toBe(404);
  });

  test("a namespace that is going takes nothing new, and goes when it is empty", () => {
    createSecret("s");
    call("DELETE", "/api/v1/namespaces/n");
    expect(createSecret("t").status).toBe(403);
    keepHouse(server);
    expect(call("GET", "/api/v1/namespaces/n").status).toBe(404);
  });

  test("what has lost its owner is collected", () => {
    const { uid } = treeAt(createSecret("owner").body, "metadata");
    const owner = { apiVersion: "v1", kind: "Secret", name: "owner", uid };
    createSecret("owned", { ownerReferences: [owner] });
    keepHouse(server);
    expect(call("GET", `${SECRETS}/owned`).status).toBe(200);
    call("DELETE", `${SECRETS}/owner`);
    keepHouse(server);
    expect(call("GET", `${SECRETS}/owned`).status).toBe(404);
  });
});

describe("reads", () => {
  test("pages show one moment, and expire with it", () => {
    for (const name of ["a", "b", "c"]) createSecret(name);
    const first = call("GET", `${SECRETS}?limit=2`).body;
    const token = String(treeAt(first, "metadata").continue);
    createSecret("d");
    const rest = call("GET", `${SECRETS}?limit=2&continue=${token}`).body;
    expect(rest.items).toHaveLength(1);
    server.storage.compact();
    expect(call("GET", `${SECRETS}?limit=2&continue=${token}`).status).toBe(410);
  });
});

test.each([
  [
    ["p1", "p2"],
    ["p3", "p1"],
    ["p3", "p1", "p2"],
  ],
  [["a"], ["b"], ["a", "b"]],
  [
    ["a", "b", "c"],
    ["c", "a"],
    ["b", "c", "a"],
  ],
])("a keyed list of %j that is applied %j becomes %j", (live, wanted, merged) => {
  expect(mergedOrder(live, wanted)).toEqual(merged);
});
