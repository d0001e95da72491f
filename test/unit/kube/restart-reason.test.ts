import { expect, test } from "vitest";
import { KubeError, type KubeErrorCode } from "../../../src/kube/errors.ts";
import { restartReasonOf } from "../../../src/kube/watch/restart-reason.ts";

test.each<KubeErrorCode>(["Conflict", "AlreadyExists"])(
  "a list that is answered with %s is tried again: no API server answers so",
  (code) => {
    expect(restartReasonOf(new KubeError(code, "list", { status: 409 }))).toBe("Unavailable");
  },
);

test("only what the program itself has done wrong is unexpected", () => {
  expect(restartReasonOf(new KubeError("NotLeading", "list"))).toBe("Unexpected");
  expect(restartReasonOf(new TypeError("no"))).toBe("Unexpected");
});
