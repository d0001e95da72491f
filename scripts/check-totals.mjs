/**
 * Adds up what reports/ says about a run, for `.ci/run`, and names what has failed. A suite that ended with an error, or
 * without a report, though no single test of it failed, counts as one failure.
 *
 *   node scripts/check-totals.mjs <exit codes of npm test, npm run check, npm run chart:test, npm run e2e>
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const suites = [
  ["tests", vitestTotals],
  ["checks", (report) => ({ ...nothing(), ...report })],
  ["chart", vitestTotals],
  ["e2e", stepTotals],
];
const codes = process.argv.slice(2).map(Number);
const totals = suites.map(([name, count], index) => {
  const report = read(`reports/${name}.json`);
  const counted = report === undefined ? { ...nothing(), failed: 1 } : count(report);
  const total = withExitCode(codes[index], counted);
  for (const failure of report === undefined ? [] : failures(report)) console.log(failure);
  console.log(`${name.padEnd(7)} ${line(total)}`);
  return total;
});
const sum = totals.reduce((all, each) => ({
  passed: all.passed + each.passed,
  failed: all.failed + each.failed,
  skipped: all.skipped + each.skipped,
}));
console.log(line(sum));
process.exitCode = sum.failed === 0 ? 0 : 1;

function line({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

function vitestTotals(report) {
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

/** Where something failed, a line for each test or step, and the first line of its message. */
function failures({ testResults = [], steps = [] }) {
  const tests = testResults.flatMap(({ name, assertionResults, message }) => {
    const failed = assertionResults.filter((test) => test.status === "failed");
    const file = relative(process.cwd(), name);
    return failed.length === 0 && message
      ? [`FAILED  ${file}: ${firstLine(message)}`]
      : failed.map(
          ({ fullName, failureMessages }) =>
            `FAILED  ${file}: ${fullName}: ${firstLine(failureMessages[0])}`,
        );
  });
  const failedSteps = steps.filter((step) => !step.passed);
  return [
    ...tests,
    ...failedSteps.map(({ title, detail }) => `FAILED  ${title}: ${firstLine(detail)}`),
  ];
}

function firstLine(text = "") {
  return text.split("\n", 1)[0].slice(0, 300);
}

/** The end-to-end run is one of steps; where the machine cannot do it, the whole counts as one skipped test. */
function stepTotals({ skipped, steps = [] }) {
  if (skipped) return { ...nothing(), skipped: 1 };
  const passed = steps.filter((step) => step.passed).length;
  return { ...nothing(), passed, failed: steps.length - passed };
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
