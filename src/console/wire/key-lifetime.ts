import { DAY, parseInstant } from "../../util/time.ts";
import type { KeyLifetime } from "../model.ts";
import type { JsonObject } from "./json.ts";

/** A time with a date, a time of day and a time zone; without the zone it could mean two times. */
const ZONED = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** What the answer of issueKey shows about the key's lifetime. The documentation does not show `expiresAt`. */
export function readLifetime({ expiresInDays, expiresAt }: JsonObject): KeyLifetime {
  const end =
    typeof expiresAt === "string" && ZONED.test(expiresAt) ? parseInstant(expiresAt) : undefined;
  return {
    ...(isDays(expiresInDays) ? { lifetimeMs: expiresInDays * DAY } : {}),
    ...(end === undefined ? {} : { expiresAt: end }),
  };
}

function isDays(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
