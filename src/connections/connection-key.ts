import { type KubeObject, type ObjectKey, parseKey } from "../kube/resource.ts";

type PartialRef = { readonly kind?: string | undefined; readonly name?: string | undefined };

/** The name of a connection as one text: `ClusterConnection/default`, `Connection/team-a/own`. */
export function connectionKey(ref: PartialRef | undefined, namespace: string): string {
  const name = ref?.name ?? "default";
  return ref?.kind === "Connection"
    ? `Connection/${namespace}/${name}`
    : `ClusterConnection/${name}`;
}

/** Kind and object key from the text of {@link connectionKey}. */
export function parseConnectionKey(text: string): {
  readonly kind: "ClusterConnection" | "Connection";
  readonly key: ObjectKey;
} {
  const [kind = "", ...path] = text.split("/");
  return {
    kind: kind === "Connection" ? kind : "ClusterConnection",
    key: parseKey(path.join("/")),
  };
}

/** The index `connection`: which connection a stored object uses. */
export function connectionOf(
  object: KubeObject & { readonly spec?: { readonly connectionRef?: PartialRef } },
): readonly string[] {
  return [connectionKey(object.spec?.connectionRef, object.metadata.namespace ?? "")];
}
