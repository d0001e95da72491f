/** The objects that a stored object refers to. Stored objects may lack what a newer schema requires. */
import { type KubeObject, keyText, type ObjectKey } from "../kube/resource.ts";

type Referring<Field extends string> = KubeObject & {
  readonly spec?: { readonly [F in Field]?: { readonly name?: string | undefined } | undefined };
};

/** The ServiceAccount that the object names; `undefined` if it names none. */
export function accountKey(object: Referring<"serviceAccountRef">): ObjectKey | undefined {
  return named(object, object.spec?.serviceAccountRef?.name);
}

/** The ApiKey that the object names; `undefined` if it names none. */
export function apiKeyKey(object: Referring<"apiKeyRef">): ObjectKey | undefined {
  return named(object, object.spec?.apiKeyRef?.name);
}

/** The index entries for such a key; none without a key. */
export function indexedAs(key: ObjectKey | undefined): readonly string[] {
  return key === undefined ? [] : [keyText(key)];
}

function named({ metadata }: KubeObject, name: string | undefined): ObjectKey | undefined {
  return name === undefined ? undefined : { namespace: metadata.namespace ?? "", name };
}
