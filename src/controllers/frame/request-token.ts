import type { ObjectMeta } from "../../util/object-meta.ts";
import { ownEntry } from "../../util/own-entry.ts";

/** The maximum length of the status fields that record the handled request. */
const MAX_TOKEN = 256;

/** The value of an annotation that a person uses to request something; cut to the limit of the status field. */
export function requestToken({ annotations }: ObjectMeta, name: string): string | undefined {
  return ownEntry(annotations, name)?.slice(0, MAX_TOKEN).toWellFormed();
}
