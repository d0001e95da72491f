/** Parses arguments that accept one kind only. */
import { UsageError } from "../cli/errors.ts";
import { type ObjectName, parseObjectName } from "./kinds.ts";

/** `ci-bot-key` or `iamkey/ci-bot-key`. Throws UsageError. */
export function parseApiKeyName(text: string): ObjectName {
  return ofKind(text, "ApiKey");
}

/** `ci-bot` or `iamsa/ci-bot`. Throws UsageError. */
export function parseAccountName(text: string): ObjectName {
  return ofKind(text, "ServiceAccount");
}

function ofKind(text: string, kind: ObjectName["kind"]): ObjectName {
  const name = parseObjectName(text, kind);
  if (name.kind === kind) return name;
  throw new UsageError(`"${text}" is not of kind ${kind}: give a name such as ci-bot`);
}
