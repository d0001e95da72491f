import { type ApiKey, apiKeyKind } from "../../api/api-key.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import type { KeyPair } from "../../console/model.ts";
import type { Context } from "../../reconciler/context.ts";
import { readSecret } from "./read-secret.ts";
import { pairIn } from "./secret/view.ts";

/**
 * The pair that the ApiKey's Secret holds right now; `undefined` if it holds no pair of the ApiKey, or a pair of another
 * account than the key in the status: it must not be sent to the console of that account.
 */
export async function readPair(
  context: Pick<Context, "caches" | "kube">,
  { metadata, spec, status }: ApiKey,
  signal: AbortSignal,
): Promise<KeyPair | undefined> {
  const { name, namespace = "", uid } = metadata;
  const parsed = parseSpec(apiKeyKind, { metadata, spec });
  if (!parsed.ok) return undefined;
  const owner = { name, namespace, uid };
  const pair = pairIn(await readSecret(context, owner, parsed.spec, "target", signal));
  return pair?.saId === status?.current?.saId ? pair : undefined;
}
