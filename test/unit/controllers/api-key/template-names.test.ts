import { describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import {
  droppedNames,
  listsSameNames,
  listTemplateNames,
} from "../../../../src/controllers/api-key/secret/names.ts";

const LIST = annotations.templateNames;

describe("a list that somebody has edited", () => {
  test.each([
    ["no JSON", "{"],
    ["of another shape", '{"labels":{"team":"a"}}'],
    ["with names that are no texts", '{"labels":[1],"annotations":[null]}'],
    ["empty", ""],
  ])("%s: nothing is dropped, and it is written anew", (_, text) => {
    const stored = { labels: { team: "a" }, annotations: { [LIST]: text } };
    expect(droppedNames(stored, {})).toEqual({ labels: [], annotations: [] });
    expect(listsSameNames(stored, {})).toBe(false);
  });

  test("never takes away what is wanted, nor names what is not there", () => {
    const list = { labels: ["mine", "gone", "__proto__"], annotations: [LIST, "constructor"] };
    const stored = { labels: { mine: "1" }, annotations: { [LIST]: JSON.stringify(list) } };
    const wanted = {
      labels: { mine: "1" },
      annotations: listTemplateNames({ labels: { mine: "1" } }),
    };
    expect(droppedNames(stored, wanted)).toEqual({ labels: [], annotations: [] });
  });
});
