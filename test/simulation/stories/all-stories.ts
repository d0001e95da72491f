import { accountStories } from "./accounts.ts";
import { bindingStories } from "./bindings.ts";
import { claimStories } from "./claims.ts";
import { connectionStories } from "./connections.ts";
import { consoleStories } from "./console.ts";
import { consumerStories } from "./consumers.ts";
import { creationStories } from "./creations.ts";
import { endingStories } from "./endings.ts";
import { keyStories } from "./keys.ts";
import { lateBindingStories } from "./late-bindings.ts";
import { leaderStories } from "./leaders.ts";
import { planStories } from "./plans.ts";
import { quotaStories } from "./quotas.ts";
import { retirementStories } from "./retirement.ts";
import { rotationStories } from "./rotation.ts";
import { secretStories } from "./secrets.ts";
import type { Story } from "./story.ts";
import { verificationStories } from "./verification.ts";
import { withdrawalStories } from "./withdrawals.ts";

const apiKeyStories: readonly Story[] = [
  ...keyStories,
  ...claimStories,
  ...secretStories,
  ...verificationStories,
  ...rotationStories,
  ...retirementStories,
  ...endingStories,
  ...consumerStories,
];

export const allStories: readonly Story[] = [
  ...accountStories,
  ...creationStories,
  ...bindingStories,
  ...withdrawalStories,
  ...lateBindingStories,
  ...connectionStories,
  ...consoleStories,
  ...apiKeyStories,
  ...planStories,
  ...leaderStories,
  ...quotaStories,
];

/** Stories in which mutants of an area are most likely to be noticed. */
const about: Readonly<Record<string, readonly Story[]>> = {
  "api-key": apiKeyStories,
  consumers: consumerStories,
  connection: [...connectionStories, ...bindingStories],
  iam: [...consoleStories, ...keyStories, ...connectionStories],
  frame: planStories,
  "leader-election": leaderStories,
  "policy-binding": [...bindingStories, ...withdrawalStories, ...lateBindingStories],
  "quota-export": quotaStories,
  "service-account": [...accountStories, ...creationStories, ...endingStories],
};

/** All stories, those about the area first and the long ones last. */
export function storiesFor(area: string): readonly Story[] {
  const ordered = [...new Set([...(about[area] ?? []), ...allStories])];
  return ordered.toSorted((a, b) => Number(a.isLong ?? false) - Number(b.isLong ?? false));
}
