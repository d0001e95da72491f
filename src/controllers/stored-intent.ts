/**
 * The intent of a call that cannot be repeated, as an annotation: one write stores it together with the finalizer. An object
 * is read as if the intent were in its status, where every later status write puts it. Pure.
 */
import { annotations } from "../api/meta.ts";
import type { KubeObject } from "../kube/resource.ts";
import { isAttemptOf } from "./marker.ts";

/** What a status tells about attempts. */
interface AttemptStatus {
  readonly attempt?: { readonly id: string } | undefined;
  readonly lastAttemptId?: string | undefined;
}

/** The fields of the status that an intent changes. */
interface IntentFields {
  readonly attempt: { readonly id: string };
}

/**
 * The annotation's text, for the object as it is stored. The admission policy of the chart relies on the order: the attempt
 * and its id come first.
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
 * Takes the annotation out of an object. If the intent is open, its fields replace those of the status. It is not if the
 * status has an open attempt of its own, if the status has closed this one or a later one, or if another object made it.
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

/** Spares parsing the intents that are closed: almost all. */
function beginsWith(text: string, attemptId: string | undefined): boolean {
  return attemptId !== undefined && text.startsWith(`{"attempt":{"id":"${attemptId}",`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
