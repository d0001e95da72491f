/** What objects have in the console and in their Secrets, whatever statuses say. */
import { eventType } from "../../../src/kube/resource-types.ts";
import { apiKeyType } from "../../../src/resources/resource-types.ts";
import type { StoryWorld } from "../stories/story.ts";
import type { Place } from "./world.ts";

/** What the account of an ApiKey has. */
export interface Truth {
  readonly apiKey: string;
  readonly saId: string;
  readonly bound: readonly string[];
  readonly keyIds: readonly string[];
}

/** One for each ApiKey among the objects: of the account that its key belongs to. */
export function truthsOf(world: StoryWorld, places: readonly Place[]): readonly Truth[] {
  return places
    .filter(({ type }) => type === apiKeyType)
    .map(({ name }) => {
      const saId = saIdOf(world, world.secret(name).keyId);
      const keyIds = world.live.filter((keyId) => saIdOf(world, keyId) === saId);
      return { apiKey: name, saId, bound: boundTo(world, saId), keyIds };
    });
}

function saIdOf({ sim }: StoryWorld, keyId = ""): string {
  return sim.console.world.keys.get(keyId)?.saId ?? "";
}

function boundTo(world: StoryWorld, saId: string): readonly string[] {
  return world.boundTo(world.sim.console.world.accounts.get(saId)?.tpn ?? "");
}

/** What is not as it was. */
export function lossOf(world: StoryWorld, before: Truth): string | undefined {
  const { apiKey, saId, bound, keyIds } = before;
  const now = boundTo(world, saId);
  if (now.join() !== bound.join())
    return `account of ${apiKey}: policies ${now.join()} instead of ${bound.join()}`;
  const ended = keyIds.filter((keyId) => !world.live.includes(keyId));
  if (ended.length > 0) return `account of ${apiKey}: ${ended.join()} no longer works`;
  const { keyId = "", secret = "" } = world.secret(apiKey);
  if (!world.live.includes(keyId) || !world.sim.console.world.isPair(keyId, secret))
    return `${apiKey}: its Secret holds no valid pair`;
  return saIdOf(world, keyId) === saId ? undefined : `${apiKey}: a key of another account`;
}

/** Keys that work, and that no status and no event names. */
export function lostKeys({ sim, live }: StoryWorld): readonly string[] {
  const objects = sim.kube.storage.all.filter(
    ({ kind }) => kind.custom || kind.type.kind === eventType.kind,
  );
  const told = JSON.stringify(objects.map(({ object }) => object));
  return live.filter((keyId) => !told.includes(keyId));
}
