/** Helpers that the actions of an ApiKey share. */
import { SpecError } from "../../frame/errors.ts";
import type { ObserveContext, Performed, ReconcileContext } from "../../frame/kind-controller.ts";
import type {
  ApiKeyDone,
  ApiKeyKind,
  ApiKeyMemory,
  ApiKeyProgress,
  ApiKeySnapshot,
  ReadyAccount,
} from "../rules/snapshot.ts";

export type ApiKeyObservation = ObserveContext<ApiKeyKind>;
export type ApiKeyRun = ReconcileContext<ApiKeyKind>;
export type ApiKeyPerformed = Performed<ApiKeyKind>;

export const nothingRemembered: ApiKeyMemory = {
  recovery: undefined,
  rejection: undefined,
  pendingRejection: undefined,
  lastCheckTime: undefined,
  vainAttempts: undefined,
  keysBeforeRestore: [],
};

export function withSnapshot(
  { snapshot, done }: ApiKeyProgress,
  change: Partial<ApiKeySnapshot>,
): ApiKeyProgress {
  return { snapshot: { ...snapshot, ...change }, done };
}

export function withDone({ snapshot, done }: ApiKeyProgress, change: ApiKeyDone): ApiKeyProgress {
  return { snapshot, done: { ...done, ...change } };
}

/** Updates the process memory at once, whatever the outcome of the run. */
export function remember(
  progress: ApiKeyProgress,
  change: Partial<ApiKeyMemory>,
  run: ApiKeyRun,
): ApiKeyProgress {
  run.setState({ ...(run.state ?? nothingRemembered), ...change });
  return withSnapshot(progress, change);
}

/** The account and its console. Rules return actions that call the console only if the account is ready. */
export function readyAccount({ account }: ApiKeySnapshot): ReadyAccount {
  if (account.kind === "Ready") return account;
  throw new SpecError("ServiceAccountNotReady", "The ServiceAccount is not ready.");
}

/** The progress after an action, with one more event about the object. */
export function withEvent(
  { events = [], ...progress }: ApiKeyPerformed,
  reason: string,
  action: string,
  note: string,
  type: "Normal" | "Warning" = "Normal",
): ApiKeyPerformed {
  const { object } = progress.snapshot;
  return { ...progress, events: [...events, { object, event: { type, reason, action, note } }] };
}
