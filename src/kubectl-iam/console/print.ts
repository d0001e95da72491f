/** Prints the console's response. */

import type { Json } from "../../console/model.ts";
import { isJsonObject } from "../../console/wire/json.ts";
import type { Invocation } from "../cli/command.ts";
import { isStructured, printValue } from "../view/output.ts";
import type { ConsoleSession } from "./session.ts";

const SECRET_FIELD = /secret|password|token/i;
const HIDDEN = "<hidden; --reveal shows it>";

/** Removes the values of fields whose names suggest a secret. */
export function hideSecrets(json: Json): Json {
  if (Array.isArray(json)) return json.map(hideSecrets);
  if (!isJsonObject(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) =>
      SECRET_FIELD.test(name) && typeof value === "string"
        ? [name, HIDDEN]
        : [name, hideSecrets(value)],
    ),
  );
}

/** Prints the response as JSON or YAML; secrets only with `--reveal`. */
export async function printJson(invocation: Invocation, json: Json): Promise<void> {
  await printValue(invocation, invocation.options.reveal ? json : hideSecrets(json));
}

/** Prints the console's last response for `-o json` and the like, otherwise what `show` prints. */
export async function printAnswer(
  invocation: Invocation,
  { answers }: Pick<ConsoleSession, "answers">,
  show: () => void | Promise<void>,
): Promise<void> {
  if (isStructured(invocation)) await printJson(invocation, answers.at(-1)?.json ?? null);
  else await show();
}
