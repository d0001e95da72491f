/** No condition advises to delete what holds or issues a key that consumers use. */
import { type Tree, treeAt } from "../../api-server/tree.ts";
import type { SimWorld } from "../sim-world.ts";
import { gapOf } from "./always.ts";
import {
  apiKeysOf,
  asApiKey,
  conditionsOf,
  issuingObject,
  placeOf,
  type StoredApiKey,
} from "./view.ts";

/** After "then", consumers have another key; a missing connection is to be created first. */
const ENDS_KEY =
  /(?<!then |create it, or )\b(?:delete|recreate|create|replace) (?:this|the) (?:ApiKey|Secret|object)\b/i;

interface Stored {
  readonly kind: { readonly type: { readonly kind: string } };
  readonly object: Tree;
  readonly previous?: Tree | undefined;
}

/** What was said before is said again until the run ends, even if the key comes into use meanwhile. */
export function adviceKeepsKeys(world: SimWorld, stored: Stored): string | undefined {
  if (treeAt(stored.object, "metadata").deletionTimestamp !== undefined) return undefined;
  const before = stored.previous === undefined ? [] : messagesOf(stored.previous);
  const fatal = messagesOf(stored.object).find(
    (text) => ENDS_KEY.test(text) && !before.includes(text),
  );
  if (fatal === undefined) return undefined;
  const used = apiKeysOfObject(world, stored).find((each) => hasUsedKey(world, each));
  return used && `the key of ${used.metadata.name} works, and a condition says ${fatal}`;
}

function messagesOf(object: Tree): readonly string[] {
  return conditionsOf(object).map(({ message }) => message ?? "");
}

/** The ApiKey itself, or those of a ServiceAccount. */
function apiKeysOfObject(world: SimWorld, { kind, object }: Stored): readonly StoredApiKey[] {
  if (kind.type.kind === "ApiKey") return [asApiKey(object)];
  if (kind.type.kind !== "ServiceAccount") return [];
  const place = placeOf(asApiKey(object));
  return apiKeysOf(world).filter(({ metadata: { namespace = "" }, spec }) => {
    const { name } = spec.serviceAccountRef;
    return placeOf({ metadata: { namespace, name } }) === place;
  });
}

function hasUsedKey(world: SimWorld, apiKey: StoredApiKey): boolean {
  const { keyId = "" } = apiKey.status?.current ?? {};
  return gapOf(world, apiKey) === undefined && issuingObject(world, keyId) !== undefined;
}
