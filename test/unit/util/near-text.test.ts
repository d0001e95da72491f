import { expect, test } from "vitest";
import { nearText } from "../../../src/util/near-text.ts";

test.each<[text: string, candidates: string, near: string | undefined]>([
  ["pol-raed", "pol-read pol-deploy", "pol-read"],
  ["pol-red", "pol-read pol-deploy", "pol-read"],
  ["pol-readd", "pol-read pol-deploy", "pol-read"],
  ["pol-reed", "pol-read pol-deploy", "pol-read"],
  ["POL-READ", "pol-read pol-deploy", "pol-read"],
  ["ol-read", "pol-read pol-deploy", "pol-read"],
  ["pol-read-only", "pol-read pol-deploy", undefined],
  ["dear-lop", "pol-read", undefined],
  ["pol-1", "pol-2", undefined],
  ["pol-1", "pol-10", undefined],
  ["pol-x", "pol-y pol-z", undefined],
  ["pol-x", "pol-y pol-y", "pol-y"],
  ["pq", "x", undefined],
])("%s among %s is near %s", (text, candidates, near) => {
  expect(nearText(text, candidates.split(" "))).toBe(near);
});
