import { MINUTE } from "../util/time.ts";

/** The longest time until a console lists a key that it has issued: the shortest overlap. */
export const LISTING_LAG_MS = 5 * MINUTE;
