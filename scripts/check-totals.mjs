/**
 * Adds up what reports/ says about a run, for `.ci/run`. A suite that ended with an error, or without a report, though
 * no single test of it failed, counts as one failure.
 *
 *   node scripts/check-totals.mjs <exit code of npm test> <exit code of npm run check>
 */
import { readFileSync } from "node:fs";

const [testCode, checkCode] = process.argv.slice(2).map(Number);
const totals = [
  withExitCode(testCode, testTotals(read("reports/tests.json"))),
  withExitCode(checkCode, { skipped: 0, ...(read("reports/checks.json") ?? nothing()) }),
];
const [passed, failed, skipped] = ["passed", "failed", "skipped"].map((key) =>
  totals.reduce((sum, each) => sum + each[key], 0),
);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = failed === 0 ? 0 : 1;

function testTotals(report) {
  if (report === undefined) return nothing();
  // A file that could not be loaded has failed without a failed test.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && assertionResults.every((test) => test.status !== "failed"),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function withExitCode(code, counted) {
  return code !== 0 && counted.failed === 0 ? { ...counted, failed: 1 } : counted;
}

function nothing() {
  return { passed: 0, failed: 0, skipped: 0 };
}

function read(file) {
  try {
    return JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), "utf8"));
  } catch {
    return undefined;
  }
}
