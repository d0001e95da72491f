/** What the operator writes into descriptions in the console: which attempt of which object made the account or the key. */
import { hash as digest } from "node:crypto";
import { keyText, type ObjectKey } from "../kube/resource.ts";

/** Anyone who can write descriptions can forge one: it proves nothing that could do harm. */
export interface Marker extends ObjectKey {
  readonly attempt: string;
}

/** Ids of one object's attempts begin alike, so that what they made is known even after its status was lost. */
export function attemptId(uid: string, random: string): string {
  return `${tagOf(uid)}-${random}`;
}

/** Whether the object with that uid made the attempt, and not another one of its name. */
export function isAttemptOf(uid: string, attempt: string): boolean {
  return attempt.startsWith(`${tagOf(uid)}-`);
}

/** The account's description: the user's words, then who made it and in which attempt. */
export function describeAccount(text: string | undefined, key: ObjectKey, attempt: string): string {
  const marker = `${markerStart(key)}${attempt}`;
  return text === undefined || text === "" ? marker : `${text} ${marker}`;
}

/** The key's description, in the same way. */
export function describeKey(text: string | undefined, key: ObjectKey, attempt: string): string {
  const marker = `${markerStart(key)}${attempt}`;
  return text === undefined ? marker : `${text} (${marker})`;
}

/** What the description of an account or a key says about its origin. */
export function markerOf(description: string): Marker | undefined {
  const [, namespace, name, attempt] =
    /(?:^|[ (])k8s ([^ #/]+)\/([^ #/]+)#([0-9a-z-]+)\)?$/.exec(description) ?? [];
  return namespace === undefined || name === undefined || attempt === undefined
    ? undefined
    : { namespace, name, attempt };
}

/** Whether a description was written in that attempt. */
export function isOfAttempt(description: string, key: ObjectKey, attempt: string): boolean {
  return description.endsWith(`${markerStart(key)}${attempt}`);
}

/** Whether a description was written by any attempt of the object with that uid. */
export function isOfObject(description: string, key: ObjectKey, uid: string): boolean {
  const start = description.lastIndexOf(`${markerStart(key)}${tagOf(uid)}-`);
  return start >= 0 && !description.slice(start + markerStart(key).length).includes(" ");
}

/** The key, as text, of the object that a description says the account was made for. */
export function makerOf(description: string): string | undefined {
  const marker = markerOf(description);
  return marker && keyText(marker);
}

function markerStart(key: ObjectKey): string {
  return `k8s ${keyText(key)}#`;
}

function tagOf(uid: string): string {
  return digest("sha256", uid).slice(0, 8);
}
