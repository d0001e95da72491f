import { bindingStories } from "./bindings.ts";
import { consumerStories } from "./consumers.ts";
import { endingStories } from "./endings.ts";
import { keyStories } from "./keys.ts";
import { leaderStories } from "./leaders.ts";
import { rotationStories } from "./rotation.ts";
import type { Story } from "./story.ts";

export const allStories: readonly Story[] = [
  ...bindingStories,
  ...keyStories,
  ...rotationStories,
  ...endingStories,
  ...leaderStories,
  ...consumerStories,
];

/** Stories in which mutants of an area are most likely to be noticed. */
const about: Readonly<Record<string, readonly Story[]>> = {
  "api-key": [...rotationStories, ...endingStories],
  consumers: consumerStories,
  "leader-election": leaderStories,
  "service-account": endingStories,
};

/** All stories, those about the area first. */
export function storiesFor(area: string): readonly Story[] {
  return [...new Set([...(about[area] ?? []), ...allStories])];
}
