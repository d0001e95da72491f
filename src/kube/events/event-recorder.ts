import type { ObjectMeta } from "../../util/object-meta.ts";

export interface EventTarget {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Pick<ObjectMeta, "namespace" | "name" | "uid" | "resourceVersion">;
}

export interface EventNote {
  readonly type: "Normal" | "Warning";
  /** One CamelCase word from a closed set. */
  readonly reason: string;
  /** The operator's action: one CamelCase word. */
  readonly action: string;
  /** A sentence under 1 KiB without secrets. */
  readonly note: string;
  /** Whether it repeats a condition of the object, so it says nothing that matters after the object. */
  readonly isCondition?: true;
}

/** Records events with best effort: never fails, never blocks, has bounded memory. */
export interface EventRecorder {
  record(target: EventTarget, event: EventNote): void;
}
