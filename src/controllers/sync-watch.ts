import { MINUTE } from "../util/time.ts";

/** How long after it was given up a syncBindings call may still take effect, as far as the operator watches for it. */
export const WATCH_MS = 10 * MINUTE;
