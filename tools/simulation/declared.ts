import { labels, MANAGED_BY } from "../../src/api/meta.ts";
import type { ServedKind } from "../api-server/kinds.ts";
import { type Tree, treeAt } from "../api-server/tree.ts";

/** What people have declared, as a text to compare: their objects, what they ask of them, and the Secrets they brought. */
export function declaredIn(
  entries: readonly { readonly kind: ServedKind; readonly object: Tree }[],
): string {
  const declared = entries
    .filter(({ kind, object }) => kind.custom || isOfPeople(kind, object))
    .map(({ kind, object }) => {
      const {
        namespace,
        name,
        uid,
        labels: marks,
        annotations,
        deletionTimestamp,
      } = treeAt(object, "metadata");
      const isGoing = deletionTimestamp !== undefined;
      const metadata = [namespace, name, uid, marks, annotations, isGoing];
      return [kind.type.plural, metadata, object.spec, object.data];
    });
  return JSON.stringify(declared);
}

function isOfPeople({ type }: ServedKind, object: Tree): boolean {
  if (type.kind === "Namespace") return true;
  const marks = treeAt(treeAt(object, "metadata"), "labels");
  return type.kind === "Secret" && marks[labels.managedBy] !== MANAGED_BY;
}
