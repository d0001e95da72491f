import { expect, test } from "vitest";
import { removalOf } from "../../../src/reconciler/rules/leftovers.ts";

test.each<[string, object, object, object | undefined]>([
  ["nothing of what is wanted", { a: 1, b: { c: [1] } }, { a: 2, b: { c: [2] } }, undefined],
  ["a field", { a: 1, b: 1 }, { a: 1 }, { b: null }],
  ["a field within an object", { a: { b: 1, c: 1 } }, { a: { b: 1 } }, { a: { c: null } }],
  ["items of a list, by writing all others", { a: [1, 2] }, { a: [3] }, { a: [3] }],
  ["no list that is as long", { a: [1] }, { a: [3] }, undefined],
  ["no list where an object is wanted", { a: [1] }, { a: { b: 1 } }, undefined],
  ["no object where a list is wanted", { a: { b: 1 } }, { a: [] }, undefined],
  ["nothing of null", { a: null }, { a: { b: 1 } }, undefined],
  ["nothing of an object where null is wanted", { a: { b: 1 } }, { a: null }, undefined],
])("a removal takes %s", (_, stored, wanted, patch) => {
  expect(removalOf(stored, wanted)).toEqual(patch);
});
