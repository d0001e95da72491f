/** The events that the operator records, except those that repeat a condition. */
import type { ReasonName } from "./reasons/sections.ts";

interface EventFacts {
  readonly type: "Normal" | "Warning";
  /** Kinds of the objects that the event can be about. */
  readonly kinds: readonly string[];
}

const ofAccounts = ["ServiceAccount"] as const;
const ofKeys = ["ApiKey"] as const;

/** By reason, in the order of docs/reference/events.md */
export const events = {
  Created: { type: "Normal", kinds: ofAccounts },
  Imported: { type: "Normal", kinds: ofAccounts },
  Recovered: { type: "Normal", kinds: ofAccounts },
  PoliciesSynced: { type: "Normal", kinds: ofAccounts },
  ForeignPoliciesFound: { type: "Normal", kinds: ofAccounts },
  Deleted: { type: "Normal", kinds: ofAccounts },
  Revoked: { type: "Normal", kinds: ofAccounts },
  Retained: { type: "Normal", kinds: ofAccounts },
  Released: { type: "Normal", kinds: ofAccounts },
  DriftCorrected: { type: "Warning", kinds: ofAccounts },
  PoliciesReappeared: { type: "Warning", kinds: ofAccounts },
  AccessRevoked: { type: "Warning", kinds: ofAccounts },
  GrantRemoved: { type: "Warning", kinds: ofAccounts },
  ChangeNotApplied: { type: "Warning", kinds: ofAccounts },
  UnmanagedKey: { type: "Warning", kinds: ofAccounts },
  OrphanedAccount: { type: "Warning", kinds: ofAccounts },
  PoliciesNotRevoked: { type: "Warning", kinds: ["PolicyBinding"] },
  RetainNotGranted: { type: "Warning", kinds: ["ServiceAccount", "PolicyBinding"] },
  KeyIssued: { type: "Normal", kinds: ofKeys },
  KeyRotated: { type: "Normal", kinds: ofKeys },
  KeyDisabled: { type: "Normal", kinds: ofKeys },
  KeyDeleted: { type: "Normal", kinds: ofKeys },
  SecretUpdated: { type: "Normal", kinds: ofKeys },
  StatusRebuilt: { type: "Normal", kinds: ofKeys },
  AttemptClosed: { type: "Normal", kinds: ofKeys },
  WorkloadRestarted: { type: "Normal", kinds: ofKeys },
  ExpiringSoon: { type: "Warning", kinds: ofKeys },
  KeyOrphaned: { type: "Warning", kinds: ofKeys },
  KeysNotRevoked: { type: "Warning", kinds: ofKeys },
  UnexpectedKeyForm: { type: "Warning", kinds: ofKeys },
  LifetimeShortened: { type: "Warning", kinds: ofKeys },
  KeyReissued: { type: "Warning", kinds: ofKeys },
  SecretNotKept: { type: "Warning", kinds: ofKeys },
  RestartFailed: { type: "Warning", kinds: ofKeys },
  WorkloadNotFound: { type: "Warning", kinds: ofKeys },
  NotConverging: { type: "Warning", kinds: ofKeys },
  UnreadableResponse: { type: "Warning", kinds: ["ServiceAccount", "ApiKey"] },
  OutcomeUnconfirmed: { type: "Warning", kinds: ["ServiceAccount", "PolicyBinding", "ApiKey"] },
  CleanupIncomplete: { type: "Warning", kinds: ["any kind"] },
  ClockSkewed: { type: "Warning", kinds: ["Connection", "ClusterConnection"] },
} as const satisfies Partial<Record<ReasonName, EventFacts>>;

export type EventReason = keyof typeof events;

/** An event in {@link events}; {@link toEvent} makes it. */
export interface OperatorEvent {
  readonly type: EventFacts["type"];
  readonly reason: EventReason;
  readonly action: string;
  readonly note: string;
}

/** The limit for an event's note, in characters. */
export const MAX_NOTE = 1_000;

/** `action`: the operator's action, in one CamelCase word. A longer note is cut. */
export function toEvent(reason: EventReason, action: string, note: string): OperatorEvent {
  return { type: events[reason].type, reason, action, note: note.slice(0, MAX_NOTE) };
}
