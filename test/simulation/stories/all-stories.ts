import { bindingStories } from "./bindings.ts";
import { consumerStories } from "./consumers.ts";
import { endingStories } from "./endings.ts";
import { keyStories } from "./keys.ts";
import { leaderStories } from "./leaders.ts";
import { rotationStories } from "./rotation.ts";
import type { Story } from "./story.ts";

export const allStories: readonly Story[] = [
  ...keyStories,
  ...rotationStories,
  ...endingStories,
  ...bindingStories,
  ...leaderStories,
  ...consumerStories,
];
