/** Paths of objects in the API. */
import { KubeError } from "../errors.ts";
import type { ObjectKey, ResourceType } from "../resource.ts";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `apiVersion` in the form of manifests: `v1`, `iam.example.com/v1`. */
export function apiVersionOf({ group, version }: ResourceType): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Path of a collection: of one namespace, of all namespaces, or of the cluster. */
export function collectionPath(type: ResourceType, namespace = ""): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${apiVersionOf(type)}`;
  const within = type.namespaced && namespace !== "" ? `/namespaces/${segment(namespace)}` : "";
  return `${root}${within}/${type.plural}`;
}

/** Path of one object. Throws BadRequest if the key is not valid, because its path would mean something else. */
export function objectPath(type: ResourceType, key: ObjectKey, subresource?: string): string {
  if (type.namespaced && key.namespace === "") {
    throw new KubeError("BadRequest", `${type.kind} ${key.name} lacks a namespace`);
  }
  const path = `${collectionPath(type, key.namespace)}/${segment(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `?a=b&c=d` without undefined parameters; "" if no parameter is left. */
export function queryText(query: Query): string {
  const parameters = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  return parameters.length === 0 ? "" : `?${parameters.join("&")}`;
}

/** A URL parser would resolve "." and "..", and an empty name would address the collection. */
function segment(name: string): string {
  if (name === "" || name === "." || name === "..") {
    throw new KubeError("BadRequest", `"${name}" is not a valid object name`);
  }
  return encodeURIComponent(name);
}
