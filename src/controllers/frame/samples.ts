import { type KubeObject, keyOf } from "../../kube/resource.ts";

interface Sample<T> {
  readonly object: T;
  /** They name the object. */
  readonly labels: Readonly<Record<"namespace" | "name", string>>;
  readonly value: number;
}

/** One sample for each object whose status has a value: collected at a scrape, so that nothing is kept for it. */
export function* samplesOf<T extends KubeObject & { readonly status?: unknown }>(
  objects: Iterable<T>,
  read: (status: Partial<NonNullable<T["status"]>>) => number | undefined,
): Generator<Sample<T>> {
  for (const object of objects) {
    const value = valueIn(object.status ?? {}, read);
    if (value !== undefined) yield { object, labels: { ...keyOf(object) }, value };
  }
}

/** A stored status may be older than any schema: one that cannot be read does not hide the series of others. */
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
