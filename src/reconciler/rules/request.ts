/** What a person requests by an annotation. Pure. */
import { annotations } from "../../api/meta.ts";
import type { ObjectMeta } from "../../util/object-meta.ts";
import { ownEntry } from "../../util/own-entry.ts";
import type { ReportedObject } from "./report.ts";

/** The maximum length of the status fields that record the handled request. */
const MAX_TOKEN = 256;

/** The value of an annotation that a person uses to request something; cut to the limit of the status field. */
export function requestToken({ annotations: all }: ObjectMeta, name: string): string | undefined {
  return ownEntry(all, name)?.slice(0, MAX_TOKEN).toWellFormed();
}

/** A person's request to reconcile the object; `undefined` if its status shows that the request is handled. */
export function openRequest({ metadata, status }: ReportedObject): string | undefined {
  const requested = requestToken(metadata, annotations.reconcileRequestedAt);
  return requested === status?.lastHandledReconcileAt ? undefined : requested;
}
