import { accountStories } from "./accounts.ts";
import { bindingStories } from "./bindings.ts";
import { connectionStories } from "./connections.ts";
import { consoleStories } from "./console.ts";
import { consumerStories } from "./consumers.ts";
import { endingStories } from "./endings.ts";
import { keyStories } from "./keys.ts";
import { leaderStories } from "./leaders.ts";
import { quotaStories } from "./quotas.ts";
import { rotationStories } from "./rotation.ts";
import type { Story } from "./story.ts";

export const allStories: readonly Story[] = [
  ...accountStories,
  ...bindingStories,
  ...connectionStories,
  ...consoleStories,
  ...keyStories,
  ...rotationStories,
  ...endingStories,
  ...leaderStories,
  ...quotaStories,
  ...consumerStories,
];

/** Stories in which mutants of an area are most likely to be noticed. */
const about: Readonly<Record<string, readonly Story[]>> = {
  "api-key": [...keyStories, ...rotationStories, ...endingStories, ...consumerStories],
  consumers: consumerStories,
  connection: [...connectionStories, ...bindingStories],
  iam: [...consoleStories, ...keyStories, ...connectionStories],
  "leader-election": leaderStories,
  "policy-binding": bindingStories,
  "quota-export": quotaStories,
  "service-account": [...accountStories, ...endingStories],
};

/** All stories, those about the area first and the long ones last. */
export function storiesFor(area: string): readonly Story[] {
  const ordered = [...new Set([...(about[area] ?? []), ...allStories])];
  return ordered.toSorted((a, b) => Number(a.isLong ?? false) - Number(b.isLong ?? false));
}
