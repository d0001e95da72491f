import type { Json, KeyPair } from "../../console/model.ts";
import type { Invocation } from "../cli/command.ts";
import { UsageError } from "../cli/errors.ts";
import { readText } from "./secret-input.ts";

/**
 * The JSON of `--body`, in which `${keyId}` and `${secret}` are replaced by the key's values. Throws UsageError if it
 * is missing.
 */
export async function readBody({ io, options }: Invocation, key?: KeyPair): Promise<Json> {
  if (options.body === undefined)
    throw new UsageError(
      "the console's documentation does not show the body: give it by --body FILE, or --body -",
    );
  const text = await readText(io, options.body);
  try {
    return fill(JSON.parse(text) as Json, key);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--body ${options.body} is not JSON`);
  }
}

function fill(json: Json, key: KeyPair | undefined): Json {
  if (typeof json === "string") return fillText(json, key);
  if (Array.isArray(json)) return json.map((each: Json) => fill(each, key));
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, fill(value, key)]));
}

function fillText(text: string, key: KeyPair | undefined): string {
  if (!/\$\{(keyId|secret)\}/.test(text)) return text;
  if (key === undefined)
    throw new UsageError("the body names ${keyId} or ${secret}: give --from-secret or --key-id");
  return text
    .replaceAll("${keyId}", () => key.keyId)
    .replaceAll("${secret}", () => key.secret.reveal());
}
