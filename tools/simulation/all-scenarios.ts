/** Every story there is. */
import { replicaScenarios } from "./replica-scenarios.ts";
import { consoleScenarios } from "./scenarios/console.ts";
import { endingScenarios } from "./scenarios/endings.ts";
import { outsideScenarios } from "./scenarios/outside.ts";
import { pathScenarios } from "./scenarios/paths.ts";
import { specChangeScenarios } from "./scenarios/spec-changes.ts";
import { type Scenario, scenarios } from "./scenarios.ts";

export const allScenarios: readonly Scenario[] = [
  ...scenarios,
  ...specChangeScenarios,
  ...endingScenarios,
  ...consoleScenarios,
  ...outsideScenarios,
  ...pathScenarios,
  ...replicaScenarios,
];

export function scenarioNamed(name: string): Scenario {
  const found = allScenarios.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no scenario "${name}"`);
  return found;
}
