/** Every page: the fields, values, flags, metrics, reasons, files and links that it names exist. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { complaintsAbout } from "./names.ts";
import { anchorsOf, pages, read, root, withoutBlocks } from "./pages.ts";

test("every name in backticks exists", () => {
  expect(pages.length).toBeGreaterThan(40);
  expect(pages.flatMap(complaintsAbout)).toEqual([]);
});

test("every link has a target", () => {
  const broken = pages.flatMap(({ path, text }) =>
    [...withoutBlocks(text).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
      .filter(([, target = "", anchor]) => {
        const file = target === "" ? path : join(dirname(path), target);
        if (!existsSync(join(root, file))) return true;
        return anchor !== undefined && !anchorsOf(read(file)).includes(anchor);
      })
      .map(([link]) => `${path}: ${link}`),
  );
  expect(broken).toEqual([]);
});

describe("a name that nothing defines is found", () => {
  test.each([
    ["`spec.rotation.waitForConsumers`", "no field `spec.rotation.waitForConsumers`"],
    ["`status.supersededKeys`", "no field `status.supersededKeys`"],
    ["`spec.suspendAccess: true`", "no field `spec.suspendAccess`"],
    ["`rotation.pause`", "no field or value `rotation.pause`"],
    ["`admissionPolicy.finalizers`", "no field or value `admissionPolicy.finalizers`"],
    ["`--set metrics.secured=true`", "no value `metrics.secured`"],
    ["`--leader-election=false`", "no flag `--leader-election`"],
    ["`kubectl iam adopt`", "no command `kubectl iam adopt`"],
    ["`npm run deploy`", "no script `deploy`"],
    ["`iam_operator_keys_lost`", "no metric `iam_operator_keys_lost`"],
    ["`AccessSuspended`", "no name `AccessSuspended`"],
    ["`iam-operator.io/adopt-me`", "no annotation or label `iam-operator.io/adopt-me`"],
    ["`IAM_OPERATOR_LOGLEVEL`", "no variable `IAM_OPERATOR_LOGLEVEL`"],
    ["`IAMKeysLost`", "no alert `IAMKeysLost`"],
    ["`src/app/leader.ts`", "no file `src/app/leader.ts`"],
    ["`docs/nothing/`", "no file `docs/nothing/`"],
  ])("%s", (text, complaint) => {
    const path = "docs/page.md";
    expect(complaintsAbout({ path, text: `Set ${text} to it.` })).toContain(
      `${path}: ${complaint}`,
    );
  });
});
