import type { ObjectMeta } from "../../util/object-meta.ts";
import { ownEntry } from "../../util/own-entry.ts";

/** As long as the status fields that note which request was handled. */
const MAX_TOKEN = 256;

/** The annotation by which a person asks for something; cut where a status could not hold it. */
export function requestToken({ annotations }: ObjectMeta, name: string): string | undefined {
  return ownEntry(annotations, name)?.slice(0, MAX_TOKEN).toWellFormed();
}
