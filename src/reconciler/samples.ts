import { type KubeObject, keyOf } from "../kube/resource.ts";

interface Sample<T> {
  readonly object: T;
  /** The labels that identify the object. */
  readonly labels: Readonly<Record<"namespace" | "name", string>>;
  readonly value: number;
}

/**
 * One sample for each object whose status has a value. Samples are collected at a scrape, so none is kept in memory.
 */
export function* samplesOf<T extends KubeObject & { readonly status?: unknown }>(
  objects: Iterable<T>,
  read: (status: Partial<NonNullable<T["status"]>>) => number | undefined,
): Generator<Sample<T>> {
  for (const object of objects) {
    const value = valueIn(object.status ?? {}, read);
    if (value !== undefined) yield { object, labels: { ...keyOf(object) }, value };
  }
}

/** A stored status may be older than the schema: an unreadable status does not hide the series of other objects. */
function valueIn<Status>(
  status: Status,
  read: (status: Status) => number | undefined,
): number | undefined {
  try {
    return read(status);
  } catch {
    return undefined;
  }
}
