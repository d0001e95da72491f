/** Lowest first. Among due keys, changes that a user may be waiting for come before routine runs. */
export const priorities = ["resync", "retry", "requeue", "change", "urgent"] as const;
export type Priority = (typeof priorities)[number];

export interface AddOptions {
  /** Time from now until the key is due. 0 by default. */
  readonly afterMs?: number;
  /** `change` by default. */
  readonly priority?: Priority;
  /** The key is not due earlier than this (a `Retry-After`), except by an addition with `bypassBackoff`. */
  readonly holdMs?: number;
  /** Ignores every hold until the key is handed out next, because a user requested the run. */
  readonly bypassBackoff?: boolean;
}

/** The higher of two priorities. */
export function higher(a: Priority, b: Priority | undefined): Priority {
  return b !== undefined && priorities.indexOf(b) > priorities.indexOf(a) ? b : a;
}
