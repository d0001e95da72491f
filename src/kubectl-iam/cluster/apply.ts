/** What `kubectl apply` would make of an object that exists. */
import type { KubeObject } from "../../kube/resource.ts";
import { type Fields, isFields, mergePatched } from "../../util/merge-patch.ts";
import { ownEntry } from "../../util/own-entry.ts";
import { parseJson } from "../../util/parse-json.ts";
import { fieldManagerOf, removedFields } from "./field-managers.ts";
import type { FileObject } from "./given-objects.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

interface Patch extends Fields {
  readonly metadata: Fields;
}

/**
 * The JSON merge patch of client-side apply: sets the fields of the file, deletes the fields that were applied last and
 * are not in the file, and keeps all others. Without a last applied configuration, it deletes nothing.
 */
export function clientSidePatch(stored: KubeObject, object: FileObject): Patch {
  const text = stored.metadata.annotations?.[LAST_APPLIED] ?? "";
  return patchBetween(configured(parseJson(text)), configured(object)) as Patch;
}

/** The field manager that applies the file by server-side apply; `undefined` for client-side apply. */
export function serverSideManager(stored: KubeObject, object: FileObject): string | undefined {
  const { annotations } = stored.metadata;
  if (ownEntry(annotations, LAST_APPLIED) !== undefined) return undefined;
  return fieldManagerOf(stored, object.spec);
}

/** The object after applying the file, without defaults; of lists that are sets, the items of the file only. */
export function applied(stored: KubeObject, object: FileObject): FileObject {
  const manager = serverSideManager(stored, object);
  const [base, patch] =
    manager === undefined
      ? [stored, clientSidePatch(stored, object)]
      : [mergePatched(stored, removedFields(stored, object.spec, manager)), configured(object)];
  return mergePatched(base, patch) as FileObject;
}

/** The parts that a file can set. Annotations are never deleted as a whole: kubectl always writes its own. */
function configured(object: unknown): Patch {
  const { metadata, status: _, ...rest } = fieldsOf(object);
  const { labels, annotations } = fieldsOf(metadata);
  return {
    ...rest,
    metadata: { ...(isFields(labels) && { labels }), annotations: fieldsOf(annotations) },
  };
}

function patchBetween(before: Fields, wanted: Fields): Fields {
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(wanted, name));
  const set = Object.entries(wanted).flatMap(([name, value]) => {
    const last = ownEntry(before, name);
    // Only a null that is new deletes.
    if (value === null && last === null) return [];
    return [[name, isFields(value) ? patchBetween(fieldsOf(last), value) : value] as const];
  });
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...set]);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}
