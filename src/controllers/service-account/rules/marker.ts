import { hash as digest } from "node:crypto";
import { keyText, type ObjectKey } from "../../../kube/resource.ts";

/** Ids of one object's attempts begin alike, so that its accounts are known even after its status was lost. */
export function attemptId(uid: string, random: string): string {
  return `${tagOf(uid)}-${random}`;
}

/** The account's description: the user's words, then who made it and in which attempt. */
export function describeAccount(text: string | undefined, key: ObjectKey, attempt: string): string {
  const marker = `${markerStart(key)}${attempt}`;
  return text === undefined || text === "" ? marker : `${text} ${marker}`;
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
  return /(?:^| )k8s ([^ #]+\/[^ #]+)#[0-9a-z-]+$/.exec(description)?.[1];
}

function markerStart(key: ObjectKey): string {
  return `k8s ${keyText(key)}#`;
}

function tagOf(uid: string): string {
  return digest("sha256", uid).slice(0, 8);
}
