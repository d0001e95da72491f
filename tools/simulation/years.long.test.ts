import { expect, test } from "vitest";
import { runYears } from "./years-command.ts";

test("half a year with outages leaves nobody without a key", { timeout: 3_600_000 }, async () => {
  const report = await runYears({
    years: 0.5,
    keys: 200,
    seed: 1,
    threads: 2,
    onProgress: () => undefined,
  });
  expect(report.violations).toEqual([]);
  expect(report.issued).toBeGreaterThan(400);
});
