import { expect, test } from "vitest";
import { toError } from "../../../src/util/to-error.ts";

test("an Error stays what it is", () => {
  const error = new TypeError("no");
  expect(toError(error)).toBe(error);
});

test.each(["a secret", { secret: "a secret" }, 7, null, undefined])(
  "what is no Error is not shown: %j",
  (thrown) => expect(toError(thrown)).toEqual(new Error("unknown")),
);
