/** Who goes first among the keys that are due: what somebody waits for before what merely comes round again. */
export const priorities = ["resync", "retry", "requeue", "change", "urgent"] as const;
export type Priority = (typeof priorities)[number];

export interface Addition {
  /** When the key is due, from now. At once by default. */
  readonly afterMs?: number;
  /** `change` by default. */
  readonly priority?: Priority;
  /** Keeps the key from being due any earlier (a `Retry-After`), whatever else adds it but what ends the hold. */
  readonly holdMs?: number;
  /** Until the key is handed out next, nothing holds it: somebody has asked for it. */
  readonly endsHold?: boolean;
}

/** The higher of two priorities. */
export function higher(a: Priority, b: Priority | undefined): Priority {
  return b !== undefined && priorities.indexOf(b) > priorities.indexOf(a) ? b : a;
}
