import { accountStories } from "./accounts.ts";
import { bindingStories } from "./bindings.ts";
import { claimStories } from "./claims.ts";
import { clockStories } from "./clocks.ts";
import { connectionStories } from "./connections.ts";
import { consoleStories } from "./console.ts";
import { consumerStories } from "./consumers.ts";
import { creationStories } from "./creations.ts";
import { endingStories } from "./endings.ts";
import { evidenceStories } from "./evidence.ts";
import { forecastStories } from "./forecasts.ts";
import { keyStateStories } from "./key-states.ts";
import { keyStories } from "./keys.ts";
import { lateBindingStories } from "./late-bindings.ts";
import { leaderStories } from "./leaders.ts";
import { moveStories } from "./moves.ts";
import { partlyBoundStories } from "./partly-bound.ts";
import { planStories } from "./plans.ts";
import { clusterPolicyStories } from "./policies-of-the-cluster.ts";
import { quotaStories } from "./quotas.ts";
import { retirementStories } from "./retirement.ts";
import { rotationStories } from "./rotation.ts";
import { secretStories } from "./secrets.ts";
import type { Story } from "./story.ts";
import { unreadableResponseStories } from "./unreadable-responses.ts";
import { verificationStories } from "./verification.ts";
import { withdrawalStories } from "./withdrawals.ts";

const apiKeyStories: readonly Story[] = [
  ...keyStories,
  ...claimStories,
  ...secretStories,
  ...verificationStories,
  ...keyStateStories,
  ...rotationStories,
  ...moveStories,
  ...retirementStories,
  ...endingStories,
  ...consumerStories,
  ...clockStories,
  ...forecastStories,
  ...clusterPolicyStories,
];

export const allStories: readonly Story[] = [
  ...accountStories,
  ...creationStories,
  ...unreadableResponseStories,
  ...bindingStories,
  ...partlyBoundStories,
  ...withdrawalStories,
  ...lateBindingStories,
  ...evidenceStories,
  ...connectionStories,
  ...consoleStories,
  ...apiKeyStories,
  ...planStories,
  ...leaderStories,
  ...quotaStories,
];

/** Stories in which mutants of an area are most likely to be noticed. */
const about: Readonly<Record<string, readonly Story[]>> = {
  "api-key": [
    ...clusterPolicyStories,
    ...forecastStories,
    ...evidenceStories,
    ...apiKeyStories,
    ...unreadableResponseStories,
  ],
  consumers: consumerStories,
  connection: [...connectionStories, ...bindingStories],
  clocks: clockStories,
  console: [...consoleStories, ...keyStories, ...connectionStories],
  reconciler: [...planStories, ...forecastStories],
  "leader-election": leaderStories,
  "policy-binding": [
    ...partlyBoundStories,
    ...bindingStories,
    ...withdrawalStories,
    ...lateBindingStories,
    ...evidenceStories,
  ],
  "quota-export": quotaStories,
  "service-account": [
    ...evidenceStories,
    ...accountStories,
    ...creationStories,
    ...unreadableResponseStories,
    ...endingStories,
  ],
};

/** All stories, those about the area first and the long ones last. */
export function storiesFor(area: string): readonly Story[] {
  const ordered = [...new Set([...(about[area] ?? []), ...allStories])];
  return ordered.toSorted((a, b) => Number(a.isLong ?? false) - Number(b.isLong ?? false));
}
