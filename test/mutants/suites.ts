/** Which tests of a suite may notice the mutants of an area. */
import type { Suite } from "./matrix.ts";
import { areaOf, type Mutant } from "./mutants.ts";

export type VitestSuite = Exclude<Suite, "simulation">;

/** The vitest project of each suite. */
export const PROJECTS: Readonly<Record<VitestSuite, string>> = {
  unit: "unit",
  server: "server",
};

const own = (kind: string) => [`test/unit/controllers/${kind}/`];
const CONTROLLERS = ["test/unit/controllers/", "test/unit/iam/", "test/unit/util/"];
const PLUGIN = ["test/unit/kubectl-iam/"];
const CLUSTER = [
  "test/unit/kube/",
  "test/server/kube/",
  "test/unit/runtime/",
  "test/unit/app/",
  "test/tenants",
];
const CONSOLE = ["test/unit/iam/", "test/tenants"];

const TESTS: Readonly<Record<string, readonly string[]>> = {
  app: ["test/unit/app/"],
  connection: own("connection"),
  consumers: ["test/unit/consumers/", "test/unit/controllers/"],
  http: [...CONSOLE, ...CLUSTER],
  iam: [...CONSOLE, ...CONTROLLERS],
  kube: CLUSTER,
  "leader-election": CLUSTER,
  plugin: PLUGIN,
  "policy-binding": own("policy-binding"),
  "quota-export": own("quota-export"),
  "service-account": own("service-account"),
  runtime: CLUSTER,
};

export function testsFor(mutant: Mutant): readonly string[] {
  return TESTS[areaOf(mutant)] ?? CONTROLLERS;
}
