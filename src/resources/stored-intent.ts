/**
 * The intent of a call that cannot be repeated, as an annotation: one write stores it together with the finalizer. The
 * object is read as if the intent were in its status, and every later status write stores it there. Pure.
 */

import { annotations } from "../api/meta.ts";
import type { KubeObject } from "../kube/resource.ts";
import { parseJson } from "../util/parse-json.ts";
import { isAttemptOf } from "./marker.ts";

/** The fields of a status about attempts. */
interface AttemptStatus {
  readonly attempt?: { readonly id: string } | undefined;
  readonly lastAttemptId?: string | undefined;
}

/** The fields of the status that an intent changes. */
interface IntentFields {
  readonly attempt: { readonly id: string };
}

/**
 * The text of the annotation, for the stored object. The chart's admission policy relies on the order: the attempt and
 * its ID come first.
 */
export function intentText<Fields extends IntentFields>(
  { attempt, ...others }: Fields,
  { status }: { readonly status?: AttemptStatus },
): string {
  return JSON.stringify({ attempt, ...others, after: status?.lastAttemptId });
}

interface IntentSchema {
  safeParse(
    value: unknown,
  ):
    | { success: true; data: IntentFields & { readonly after?: string | undefined } }
    | { success: false };
}

/**
 * Removes the annotation from an object. If the intent is open, its fields replace the fields of the status. The intent
 * is not open if the status has an open attempt, if the status has closed this attempt or a later attempt, or if
 * another object made the attempt.
 */
export function intentReader(
  schema: IntentSchema,
): <T extends KubeObject & { readonly status?: AttemptStatus }>(object: T) => T {
  return (object) => {
    const { [annotations.intent]: text, ...others } = object.metadata.annotations ?? {};
    if (text === undefined) return object;
    const bare = { ...object, metadata: { ...object.metadata, annotations: others } };
    const { attempt, lastAttemptId } = object.status ?? {};
    if (attempt !== undefined || beginsWith(text, lastAttemptId)) return bare;
    const parsed = schema.safeParse(parseJson(text));
    if (!parsed.success) return bare;
    const { after, ...fields } = parsed.data;
    const isClosed = lastAttemptId !== undefined && after !== lastAttemptId;
    const isOwn = isAttemptOf(object.metadata.uid ?? "", fields.attempt.id);
    if (isClosed || !isOwn) return bare;
    return { ...bare, status: { ...object.status, ...fields } };
  };
}

/** Avoids parsing closed intents, which are almost all intents. */
function beginsWith(text: string, attemptId: string | undefined): boolean {
  return attemptId !== undefined && text.startsWith(`{"attempt":{"id":"${attemptId}",`);
}
