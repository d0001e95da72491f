/** Helpers that the actions of an ApiKey share. */
import { readClock } from "../../frame/clock-reading.ts";
import type { ReconcileContext } from "../../frame/kind-controller.ts";
import type { Outcome } from "../../frame/rules/outcome.ts";
import { SpecError } from "../../frame/spec-error.ts";
import { recordEvent, writeObjectStatus } from "../../frame/write-report.ts";
import { objectReport } from "../rules/report.ts";
import type {
  ApiKeyDone,
  ApiKeyMemory,
  ApiKeyProgress,
  ApiKeySnapshot,
  ReadyAccount,
} from "../rules/snapshot.ts";

export type ApiKeyRun = ReconcileContext<ApiKeyMemory>;

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

const SETTLED: Outcome = { kind: "Settled" };

/**
 * Writes the status in the middle of a run, only if the object has not changed since (Conflict otherwise). Returns the
 * progress with the written object.
 */
export async function writeStatusNow(
  progress: ApiKeyProgress,
  run: ApiKeyRun,
  outcome = SETTLED,
): Promise<ApiKeyProgress> {
  const entry = objectReport(progress, outcome, readClock(run));
  return withSnapshot(progress, { object: await writeObjectStatus(entry, run) });
}

/** The account and its console. Rules return actions that call the console only if the account is ready. */
export function readyAccount({ account }: ApiKeySnapshot): ReadyAccount {
  if (account.kind === "Ready") return account;
  throw new SpecError("ServiceAccountNotReady", "The ServiceAccount is not ready.");
}

export function recordKeyEvent(
  { snapshot }: ApiKeyProgress,
  run: ApiKeyRun,
  reason: string,
  action: string,
  note: string,
  type: "Normal" | "Warning" = "Normal",
): void {
  recordEvent(run, snapshot.object, { type, reason, action, note });
}
