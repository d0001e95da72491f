/** Which tests of a suite may notice the mutants of an area. */
import type { Suite } from "./matrix.ts";
import { areaOf, CHART_AREA, type Named } from "./mutants.ts";

export type VitestSuite = Exclude<Suite, "simulation"> | "stories";

/** The vitest project of each suite. */
export const PROJECTS: Readonly<Record<VitestSuite, string>> = {
  unit: "unit",
  chart: "chart",
  stories: "unit",
};

const own = (kind: string) => [
  `test/unit/kinds/${kind}/`,
  "test/unit/kinds/requeue.property.test.ts",
];
const KINDS = ["accounts", "kinds", "reconciler", "resources"].map((room) => `test/unit/${room}/`);
const RECONCILING = [...KINDS, "test/unit/console/", "test/unit/util/"];
const PLUGIN = ["test/unit/kubectl-iam/"];
const CLUSTER = [
  "test/unit/http/",
  "test/unit/kube/",
  "test/unit/runtime/",
  "test/unit/app/",
  "test/tenants",
];
const CONSOLE = ["test/unit/http/", "test/unit/console/", "test/tenants"];

/** Each by itself, the cheapest first; the last ones run an operator with the chart's permissions. */
const CHART = [
  "rules",
  "values",
  "schema",
  "rendering",
  "release",
  "workloads",
  "rights",
  "rights-in-namespaces",
];
/** They compare whole renderings: any change makes them fail, so they do not prove that a test knows the rule. */
const GOLDENS = /changes exactly these fields|is what the chart renders/;

const TESTS: Readonly<Record<string, readonly string[]>> = {
  api: ["test/unit/api/", ...RECONCILING],
  app: ["test/unit/app/"],
  clocks: [
    "test/unit/util/agreed-time.test.ts",
    "test/unit/http/server-clock.test.ts",
    ...KINDS,
    "test/unit/consumers/decide.test.ts",
    "test/unit/console/exchange.test.ts",
  ],
  connection: own("connection"),
  connections: ["test/unit/connections/", ...RECONCILING],
  consumers: ["test/unit/consumers/", ...KINDS],
  http: [...CONSOLE, ...CLUSTER],
  console: [...CONSOLE, ...RECONCILING],
  kube: CLUSTER,
  "leader-election": CLUSTER,
  observability: ["test/unit/observability/", "test/unit/app/"],
  plugin: PLUGIN,
  "policy-binding": own("policy-binding"),
  "quota-export": own("quota-export"),
  "service-account": [
    ...own("service-account"),
    "test/unit/accounts/",
    "test/unit/kinds/unreadable-response.test.ts",
  ],
  runtime: CLUSTER,
};

/** Groups of test files, to run one after the other. */
export function testsFor(mutant: Named, suite: VitestSuite): readonly (readonly string[])[] {
  if (suite === "stories") return [["tools/simulation/stories/"]];
  if (areaOf(mutant) === CHART_AREA) return CHART.map((name) => [`test/chart/${name}.test.ts`]);
  // Most of its mutants are noticed by its own tests.
  if (areaOf(mutant) === "api-key") return [own("api-key"), RECONCILING];
  return [TESTS[areaOf(mutant)] ?? RECONCILING];
}

/** Whether the suite runs for the mutant. */
export function concerns(suite: Suite, mutant: Named): boolean {
  return (suite === "chart") === (areaOf(mutant) === CHART_AREA);
}

/** The tests of a file to run: one by its name, or all that count. Tests of the chart build on those before them. */
export function namePattern(suite: VitestSuite, name?: string): RegExp {
  if (suite === "chart") return new RegExp(`^(?!.*(${GOLDENS.source}))`);
  if (name === undefined) return /^/;
  // vitest writes ` > ` between the names of a group and of a test.
  const space = RegExp.escape(" ");
  return new RegExp(`^${RegExp.escape(name).replaceAll(space, "( | > )")}$`);
}
