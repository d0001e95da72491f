/**
 * Text that the operator adds to descriptions in the console: which attempt of which object created the account or key.
 */
import { hash as digest } from "node:crypto";
import { keyText, type ObjectKey } from "../kube/resource.ts";

/** Anyone who can write descriptions can forge a marker, so it never justifies an action that can do harm. */
export interface Marker extends ObjectKey {
  /** `--cluster-name` of the operator that wrote the marker; `undefined` if it has none. */
  readonly cluster: string | undefined;
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
export function describeAccount(
  text: string | undefined,
  key: ObjectKey,
  attempt: string,
  cluster?: string,
): string {
  const marker = markerText(key, attempt, cluster);
  return text === undefined || text === "" ? marker : `${text} ${marker}`;
}

/** The key's description: the user's text, then the marker in parentheses. */
export function describeKey(
  text: string | undefined,
  key: ObjectKey,
  attempt: string,
  cluster?: string,
): string {
  const marker = markerText(key, attempt, cluster);
  return text === undefined ? marker : `${text} (${marker})`;
}

/** The marker in the description of an account or a key; `undefined` if there is none. */
export function markerOf(description: string): Marker | undefined {
  const [, cluster, namespace, name, attempt] = MARKER.exec(description) ?? [];
  return namespace === undefined || name === undefined || attempt === undefined
    ? undefined
    : { cluster, namespace, name, attempt };
}

/** Whether a description was written in this attempt, even if the cluster has been renamed since. */
export function isOfAttempt(description: string, key: ObjectKey, attempt: string): boolean {
  return creatorOf(description) === keyText(key) && markerOf(description)?.attempt === attempt;
}

/** Whether a description was written in any attempt of the object with this uid, in whichever cluster. */
export function isOfObject(description: string, key: ObjectKey, uid: string): boolean {
  const { attempt = "" } = markerOf(description) ?? {};
  return creatorOf(description) === keyText(key) && isAttemptOf(uid, attempt);
}

/** Whether the marker names another cluster than `cluster`. A marker without a cluster names none. */
export function isOfOtherCluster(marker: Marker | undefined, cluster: string | undefined): boolean {
  return marker?.cluster !== undefined && marker.cluster !== cluster;
}

/** The key of the object in the description's marker, as text; `undefined` without a marker. */
export function creatorOf(description: string): string | undefined {
  const marker = markerOf(description);
  return marker && keyText(marker);
}

/** `--cluster-name`, without the anchors of a whole text. */
const CLUSTER_NAME = "[a-z0-9](?:[-.a-z0-9]{0,61}[a-z0-9])?";
const MARKER = new RegExp(
  `(?:^|[ (])k8s(?:@(${CLUSTER_NAME}))? ([^ #/]+)/([^ #/]+)#([0-9a-z-]+)\\)?$`,
);

/** The cluster that a description names, if it is another one than `cluster`. */
export function otherClusterIn(
  description: string,
  cluster: string | undefined,
): string | undefined {
  const marker = markerOf(description);
  return isOfOtherCluster(marker, cluster) ? marker?.cluster : undefined;
}

function markerText(key: ObjectKey, attempt: string, cluster = ""): string {
  return `k8s${cluster === "" ? "" : `@${cluster}`} ${keyText(key)}#${attempt}`;
}

function tagOf(uid: string): string {
  return digest("sha256", uid).slice(0, 8);
}
