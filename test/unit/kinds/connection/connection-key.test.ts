import { expect, test } from "vitest";
import {
  connectionKey,
  connectionOf,
  parseConnectionKey,
} from "../../../../src/connections/connection-key.ts";

test.each([
  { ref: undefined, text: "ClusterConnection/default", key: { namespace: "", name: "default" } },
  {
    ref: { kind: "Connection", name: "own" },
    text: "Connection/team-a/own",
    key: { namespace: "team-a", name: "own" },
  },
])("$text names one connection", ({ ref, text, key }) => {
  expect(connectionKey(ref, "team-a")).toBe(text);
  expect(parseConnectionKey(text)).toEqual({ kind: text.split("/")[0], key });
});

test("an object without a connectionRef uses the default one", () => {
  expect(connectionOf({ metadata: { name: "a", namespace: "b" } })).toEqual([
    "ClusterConnection/default",
  ]);
});
