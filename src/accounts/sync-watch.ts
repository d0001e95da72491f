import { MINUTE } from "../util/time.ts";

/** How long the operator watches for a late effect of a syncBindings call after it gave up on the call. */
export const WATCH_MS = 10 * MINUTE;
