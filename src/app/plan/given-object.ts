/** Objects of a user, as they would be stored, by group, version and kind. */
import { GROUP } from "../../api/meta.ts";
import { kinds } from "../../kinds/kinds.ts";
import { apiVersionOf } from "../../kube/client/api-path.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { configMapType, namespaceType, secretType } from "../../resources/resource-types.ts";

export interface GivenObject extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec?: unknown;
}

/** Given objects of these types have an effect; all others are ignored. */
const types: readonly ResourceType[] = [
  namespaceType,
  secretType,
  configMapType,
  ...kinds.map(({ type }) => type),
];

type Typed = Pick<GivenObject, "apiVersion" | "kind">;

/** `undefined` if the object has no effect on a plan: a ServiceAccount of Kubernetes is not one of the operator. */
export function typeOfGiven({ apiVersion, kind }: Typed): ResourceType | undefined {
  return types.find((type) => type.kind === kind && apiVersionOf(type) === apiVersion);
}

export function isCustomResource(object: Typed): boolean {
  return typeOfGiven(object)?.group === GROUP;
}
