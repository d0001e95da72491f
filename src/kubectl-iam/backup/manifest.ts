/** Objects as a user could have written them, and the order in which they are created. Pure. */
import type { KindName } from "../../api/kinds.ts";
import { annotations } from "../../api/meta.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { ResourceType } from "../../kube/resource.ts";
import { configMapType, namespaceType, secretType } from "../../kube/resource-types.ts";
import { trim } from "../../kube/watch/trim.ts";
import type { FileObject } from "../cluster/given-objects.ts";
import { isCustomResource, nameOf, typeOf } from "../cluster/kinds.ts";

/** Each kind after the kinds that it needs: an ApiKey that finds its Secret does not need a new key. */
const ORDER = [
  "Namespace",
  "ConfigMap",
  "Secret",
  "ClusterConnection",
  "Connection",
  "ServiceAccount",
  "PolicyBinding",
  "ApiKey",
  "ResourceQuotaExport",
];

export function inOrder(objects: readonly FileObject[]): readonly FileObject[] {
  return objects.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

/** `undefined` for a kind that a backup never holds. */
export function typeOfManifest(
  object: Pick<FileObject, "apiVersion" | "kind">,
): ResourceType | undefined {
  if (isCustomResource(object)) return typeOf(object.kind as KindName) as ResourceType;
  return object.apiVersion === "v1"
    ? [namespaceType, configMapType, secretType].find(({ kind }) => kind === object.kind)
    : undefined;
}

/** `iamkey/ci-bot-key in namespace team-a` */
export function titleOf(object: Pick<FileObject, "apiVersion" | "kind" | "metadata">): string {
  const { name, namespace } = object.metadata;
  const short = isCustomResource(object) ? nameOf(object) : `${object.kind.toLowerCase()}/${name}`;
  return namespace === undefined ? short : `${short} in namespace ${namespace}`;
}

/** Requests and records of the old object. The new object must not carry out a request again. */
const OF_OLD_OBJECT: readonly string[] = [
  annotations.intent,
  annotations.reconcileRequestedAt,
  annotations.rotateRequestedAt,
];
/** The API server sets it, so a backup leaves it out. */
export const NAME_LABEL = "kubernetes.io/metadata.name";

/**
 * The object without its status and what the API server and the operator have added. A ServiceAccount imports the
 * account that its status names.
 */
export function toManifest(object: FileObject): FileObject {
  const { apiVersion, kind, metadata, status, ...content } = trim<FileObject & Stored>(object);
  const { name, namespace, labels, annotations: notes } = metadata;
  const kept =
    kind === "Namespace"
      ? { name, labels: without(labels, [NAME_LABEL]) }
      : { name, namespace, labels, annotations: without(notes, OF_OLD_OBJECT) };
  const head = { apiVersion, kind, metadata: JSON.parse(JSON.stringify(kept)) };
  if (kind === "Namespace") return head;
  const isAccount = kind === "ServiceAccount" && isCustomResource(object);
  return { ...head, ...content, ...(isAccount ? { spec: importing(object as never) } : {}) };
}

type Stored = { readonly status?: unknown };

/** The console's ID of the account; `undefined` if the object has never had an account. */
export function saIdOf(object: object | undefined): string | undefined {
  const { spec, status } = (object ?? {}) as Partial<ServiceAccount>;
  return spec?.saId ?? status?.saId;
}

/** An imported account is retained by default, so the policy of a created account is written down. */
function importing({ spec, status }: ServiceAccount): object {
  if (spec.saId !== undefined || status?.saId === undefined) return spec;
  return { deletionPolicy: "Revoke", ...spec, saId: status.saId };
}

function without(
  entries: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const kept = Object.entries(entries ?? {}).filter(([name]) => !names.includes(name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
