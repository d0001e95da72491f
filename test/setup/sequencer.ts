/** The order in which test files start. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Projects whose tests mostly wait: for real servers, in real time. */
const WAITING = new Set(["cluster", "process", "server"]);
/**
 * The files that take longest, in this order: without results of an earlier run, vitest takes the largest files for
 * the slowest.
 */
const SLOW = [
  "process/books.test.ts",
  "integration/kubectl-iam/kubectl.test.ts",
  "process/demo.test.ts",
  "process/failures.test.ts",
  "integration/kubectl-iam/docs.test.ts",
  "process/calls.test.ts",
  "process/lifecycle.test.ts",
  "integration/tenants/claims-elsewhere.test.ts",
  "process/traces.test.ts",
  "integration/tenants/hanging-console.test.ts",
  "simulation/stories/stories.test.ts",
  "simulation/small-scope.test.ts",
  "simulation/fidelity.test.ts",
  "simulation/sim.test.ts",
  "simulation/replica.test.ts",
  "tenants/crowded-metrics.test.ts",
];

/**
 * Files that wait and files that compute, side by side from the start to the end, so that no core is idle: vitest by
 * itself runs one project after the other.
 */
export class MixedSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = slowFirst(await super.sort(files));
    const isAlone = ({ project }: TestSpecification) => project.config.sequence.groupOrder > 0;
    const together = sorted.filter((file) => !isAlone(file));
    const waiting = together.filter(({ project }) => WAITING.has(project.name));
    const computing = together.filter(({ project }) => !WAITING.has(project.name));
    return [...evenly(waiting, computing), ...sorted.filter(isAlone)];
  }
}

function slowFirst(files: readonly TestSpecification[]): readonly TestSpecification[] {
  const rankOf = ({ moduleId }: TestSpecification) => {
    const rank = SLOW.findIndex((end) => moduleId.endsWith(end));
    return rank < 0 ? SLOW.length : rank;
  };
  return files.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** Both lists in their order, each spread over the whole. */
function evenly<Item>(one: readonly Item[], other: readonly Item[]): readonly Item[] {
  return [one, other]
    .flatMap((list) => list.map((item, index) => ({ item, at: (index + 1) / list.length })))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
