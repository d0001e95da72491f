import { expect, test } from "vitest";
import { endpoints } from "../../../src/console/endpoints.ts";
import { read } from "./pages.ts";

test("docs/compatibility.md lists every call to the console, and no other", () => {
  const listed = [...read("docs/compatibility.md").matchAll(/^\| `([A-Z]+ \/\S+)`/gm)].map(
    ([, call]) => call,
  );
  const calls = Object.values(endpoints).map(({ method, path }) => `${method} ${path}`);
  expect(listed.toSorted()).toEqual(calls.toSorted());
});
