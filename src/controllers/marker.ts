/**
 * Text that the operator adds to descriptions in the console: which attempt of which object created the account or key.
 */
import { hash as digest } from "node:crypto";
import { keyText, type ObjectKey } from "../kube/resource.ts";

/** Anyone who can write descriptions can forge a marker, so it never justifies an action that can do harm. */
export interface Marker extends ObjectKey {
  readonly attempt: string;
}

/** All attempt IDs of an object have the same prefix: their accounts and keys are known even if its status is lost. */
export function attemptId(uid: string, random: string): string {
  return `${tagOf(uid)}-${random}`;
}

/** Whether the object with this uid made the attempt, and not another object with the same name. */
export function isAttemptOf(uid: string, attempt: string): boolean {
  return attempt.startsWith(`${tagOf(uid)}-`);
}

/** The account's description: the user's text, then the marker with the object and the attempt. */
export function describeAccount(text: string | undefined, key: ObjectKey, attempt: string): string {
  const marker = `${markerStart(key)}${attempt}`;
  return text === undefined || text === "" ? marker : `${text} ${marker}`;
}

/** The key's description: the user's text, then the marker in parentheses. */
export function describeKey(text: string | undefined, key: ObjectKey, attempt: string): string {
  const marker = `${markerStart(key)}${attempt}`;
  return text === undefined ? marker : `${text} (${marker})`;
}

/** The marker in the description of an account or a key; `undefined` if there is none. */
export function markerOf(description: string): Marker | undefined {
  const [, namespace, name, attempt] =
    /(?:^|[ (])k8s ([^ #/]+)\/([^ #/]+)#([0-9a-z-]+)\)?$/.exec(description) ?? [];
  return namespace === undefined || name === undefined || attempt === undefined
    ? undefined
    : { namespace, name, attempt };
}

/** Whether a description was written in this attempt. */
export function isOfAttempt(description: string, key: ObjectKey, attempt: string): boolean {
  return description.endsWith(`${markerStart(key)}${attempt}`);
}

/** Whether a description was written in any attempt of the object with this uid. */
export function isOfObject(description: string, key: ObjectKey, uid: string): boolean {
  const start = description.lastIndexOf(`${markerStart(key)}${tagOf(uid)}-`);
  return start >= 0 && !description.slice(start + markerStart(key).length).includes(" ");
}

/** The key of the object in the description's marker, as text; `undefined` without a marker. */
export function creatorOf(description: string): string | undefined {
  const marker = markerOf(description);
  return marker && keyText(marker);
}

function markerStart(key: ObjectKey): string {
  return `k8s ${keyText(key)}#`;
}

function tagOf(uid: string): string {
  return digest("sha256", uid).slice(0, 8);
}
