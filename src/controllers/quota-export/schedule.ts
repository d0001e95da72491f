/** When an export is listed. Pure; times are monotonic milliseconds. */
import type { ResourceQuotaExport } from "../../api/resource-quota-export.ts";
import { MINUTE } from "../../util/time.ts";

const MAX_START_DELAY = MINUTE;

/**
 * How long the first listing after a start waits: a new or changed export not at all, one that was listed
 * before by its uid, so that a restart does not call for everything at once.
 */
export function startDelay({ metadata, status }: ResourceQuotaExport, intervalMs: number): number {
  const isKnown =
    status?.lastSuccessTime !== undefined && status.observedGeneration === metadata.generation;
  return isKnown ? hash(metadata.uid) % Math.min(intervalMs, MAX_START_DELAY) : 0;
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}
