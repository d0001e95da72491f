/** Who owns which fields of an object by server-side apply. */
import type { KubeObject } from "../../kube/resource.ts";
import { type Fields, isFields } from "../../util/merge-patch.ts";
import { ownEntry } from "../../util/own-entry.ts";

/** An entry of `metadata.managedFields`. */
interface Managed {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  /** The field `name` is the entry `f:name`. */
  readonly fieldsV1?: Fields;
}

const SPEC = "f:spec";

/** The manager that applied most fields of `spec`; `undefined` if none was applied. */
export function fieldManagerOf(stored: KubeObject, spec: unknown): string | undefined {
  const names = isFields(spec) ? Object.keys(spec) : [];
  const countOf = (fields: Fields) =>
    names.filter((name) => Object.hasOwn(below(fields, SPEC), `f:${name}`)).length;
  const [first] = managedFields(stored)
    .filter(({ operation }) => operation === "Apply")
    .map(({ manager, fieldsV1 = {} }) => ({ manager, count: countOf(fieldsV1) }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count);
  return first?.manager;
}

/** A JSON merge patch that deletes the fields that `spec` lacks and only this manager owns. */
export function removedFields(stored: KubeObject, spec: unknown, manager: string): Fields {
  const isOwn = (each: Managed) => each.manager === manager && each.operation === "Apply";
  const managed = managedFields(stored);
  const [owned = {}] = managed.filter(isOwn).map(({ fieldsV1 }) => fieldsV1);
  const others = managed.filter((each) => !isOwn(each)).map(({ fieldsV1 = {} }) => fieldsV1);
  return removed({ [SPEC]: below(owned, SPEC) }, others, { spec });
}

function removed(owned: Fields, others: readonly Fields[], wanted: Fields): Fields {
  const patch = new Map<string, unknown>();
  for (const [entry, inner] of Object.entries(owned)) {
    const name = fieldName(entry);
    if (name === undefined) continue;
    const sharing = others.filter((each) => Object.hasOwn(each, entry));
    const shared = sharing.map((each) => below(each, entry));
    if (isFields(inner) && Object.keys(inner).some(fieldName))
      patch.set(name, removed(inner, shared, below(wanted, name)));
    else if (!Object.hasOwn(wanted, name) && sharing.length === 0) patch.set(name, null);
  }
  return Object.fromEntries(patch);
}

function fieldName(entry: string): string | undefined {
  return entry.startsWith("f:") ? entry.slice(2) : undefined;
}

function managedFields({ metadata }: KubeObject): readonly Managed[] {
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly Managed[] };
  return managedFields.filter(({ subresource = "" }) => subresource === "");
}

function below(fields: Fields, name: string): Fields {
  const value = ownEntry(fields, name);
  return isFields(value) ? value : {};
}
