import { expect, test } from "vitest";
import { StringPool } from "../../../src/kube/watch/string-pool.ts";

test("whatever is shared stays equal, and a property of any name is its own", () => {
  const text = JSON.stringify({
    metadata: { name: "a", labels: { a: "a", __proto__: "a" } },
    list: ["a", 1, null, true, { b: "a" }, []],
    long: "x".repeat(1_000),
  }).replace('"labels":{', '"labels":{"__proto__":"b","constructor":"a",');
  const pool = new StringPool();
  for (let n = 0; n < 5_000; n += 1) pool.share({ text: `seen ${n}` });
  const object = JSON.parse(text);
  pool.share(object);
  expect(JSON.stringify(object)).toBe(text);
  expect({}.constructor).toBe(Object);
});
