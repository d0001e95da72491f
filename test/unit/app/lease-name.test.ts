import { expect, test } from "vitest";
import { leaseName } from "../../../src/app/lease-name.ts";

test("selectors that differ have leases that differ, all of them valid names", () => {
  const long = "x".repeat(300);
  const selectors = [
    ...[
      "",
      "env=prod",
      "env!=prod",
      "env in (prod)",
      "env notin (prod)",
      "env",
      "!env",
      "Env=prod",
      "env=Prod",
    ],
    ...["env==prod", "a=b,c=d", "a=b-c=d", `a=${long}`, `a=${long}y`, "!"],
  ];
  const names = selectors.map(leaseName);
  expect(new Set(names).size).toBe(selectors.length);
  for (const name of names) {
    expect(name).toMatch(/^iam-operator(-[a-z0-9]+)*$/);
    expect(name.length).toBeLessThanOrEqual(253);
  }
  expect(leaseName("")).toBe("iam-operator");
});
