/** Alerts and dashboard: about metrics that exist, and firing when they should. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collectDefaultMetrics, Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { CHART, findHelm, renderChart } from "../../scripts/chart/helm.ts";
import { createMetrics, ISSUE_RESULTS } from "../../src/observability/metrics.ts";
import { findProgram } from "../support/prometheus-programs.ts";
import { type Rules, toAlertsPage } from "./support/alerts-page.ts";
import { runbooks } from "./support/runbooks.ts";

const support = join(import.meta.dirname, "support");
const promtool = findProgram("promtool");
const directory = mkdtempSync(join(tmpdir(), "iam-operator-alerts-"));
afterAll(() => rmSync(directory, { recursive: true }));

let rules: Rules;

beforeAll(async () => {
  const args = [
    "--set=metrics.prometheusRule.create=true",
    "--show-only=templates/prometheus-rule.yaml",
  ];
  rules = parse(await renderChart(await findHelm(), { args })).spec;
  writeFileSync(join(directory, "rules.yaml"), stringify(rules));
  writeFileSync(join(directory, "alerts.yaml"), stringify(withRunbooks(stories())));
});

interface Story {
  readonly alert_rule_test: readonly {
    readonly alertname: string;
    readonly exp_alerts: readonly { readonly exp_annotations?: object }[];
  }[];
}

function stories(): { readonly tests: readonly Story[] } {
  return parse(readFileSync(join(support, "alerts.yaml"), "utf8"));
}

/** promtool compares all annotations; a link is that of the rule and needs no story. */
function withRunbooks(file: ReturnType<typeof stories>) {
  const runbookOf = (name: string) => ruleOf(name)?.annotations.runbook_url;
  const tests = file.tests.map((story) => ({
    ...story,
    alert_rule_test: story.alert_rule_test.map((check) => ({
      ...check,
      exp_alerts: check.exp_alerts.map((expected) => ({
        ...expected,
        exp_annotations: { ...expected.exp_annotations, runbook_url: runbookOf(check.alertname) },
      })),
    })),
  }));
  return { ...file, tests };
}

const ruleOf = (name: string) =>
  rules.groups.flatMap((group) => group.rules).find(({ alert }) => alert === name);

const run = (...args: readonly string[]) => {
  try {
    return execFileSync(promtool ?? "", args, { cwd: directory, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}\n${stderr}`);
  }
};

describe.skipIf(promtool === undefined)("promtool", () => {
  test("finds the rules well-formed", () => {
    const count = rules.groups.flatMap((group) => group.rules).length;
    expect(run("check", "rules", "rules.yaml")).toContain(`SUCCESS: ${count} rules found`);
  });

  test("sees every alert fire when it should, and not otherwise", () => {
    expect(run("test", "rules", "alerts.yaml")).toContain("SUCCESS");
  });
});

test("every alert is documented as it is", async () => {
  await expect(toAlertsPage(rules)).toMatchFileSnapshot("../../docs/alerts.md");
});

test("the runbook of failed issues explains every result that the metric can have", () => {
  const [, ...failures] = ISSUE_RESULTS;
  const named = runbooks.IAMKeyIssuanceFailing?.fix?.match(/`\w+`(?=: )/g);
  expect(named).toEqual(failures.map((result) => `\`${result}\``));
});

test("every alert links to its section of this version's page", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  for (const { alert, annotations } of rules.groups.flatMap((group) => group.rules))
    expect(annotations.runbook_url).toMatch(
      new RegExp(`/blob/v${version}/docs/alerts.md#${alert.toLowerCase()}$`),
    );
});

test("every alert has a story in which it fires", () => {
  const fired = stories()
    .tests.flatMap(({ alert_rule_test }) => alert_rule_test)
    .filter(({ exp_alerts }) => exp_alerts.length > 0)
    .map(({ alertname }) => alertname);
  const names = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
  expect([...new Set(fired)].toSorted()).toEqual(names.toSorted());
});

describe("metrics that exist", () => {
  let known: ReadonlySet<string>;

  beforeAll(async () => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    createMetrics(registry);
    const names = (await registry.getMetricsAsJSON()).flatMap(({ name, type }) =>
      String(type) === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    known = new Set(names);
  });

  test("are those of the alerts", () => {
    const used = rules.groups.flatMap((group) =>
      group.rules.flatMap(({ expr }) => metricsIn(expr)),
    );
    expect(used.length).toBeGreaterThan(15);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  test("are those of the dashboard", () => {
    const dashboard = JSON.parse(
      readFileSync(join(CHART, "files/dashboards/iam-operator.json"), "utf8"),
    );
    const expressions: string[] = [
      ...dashboard.panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
        targets.map(({ expr }) => expr),
      ),
      ...dashboard.templating.list.map(({ query }: { query: string }) => query),
    ];
    const used = expressions.flatMap(metricsIn);
    expect(used.length).toBeGreaterThan(30);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  test("have no panel on top of another", () => {
    const { panels } = JSON.parse(
      readFileSync(join(CHART, "files/dashboards/iam-operator.json"), "utf8"),
    );
    const cells = panels.flatMap(
      ({ gridPos: { x, y, w, h } }: { gridPos: Record<"x" | "y" | "w" | "h", number> }) =>
        Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});

/** Names with an underscore that are neither functions nor labels. */
function metricsIn(expression: string): readonly string[] {
  return (
    expression
      .replace(/\{[^}]*\}/g, "")
      .replace(/\[[^\]]*\]/g, "")
      .replace(/\b(by|ignoring|on)\s*\([^)]*\)/g, "")
      .match(/\b[a-z]+_[a-z0-9_]+\b(?!\s*\()/g) ?? []
  );
}
