import type { Readiness } from "../../api/conditions.ts";
import type { ServiceAccountSpec } from "../../api/service-account.ts";
import type {
  IamServiceAccount,
  IamServiceAccountDetail,
  NewServiceAccount,
} from "../../iam/model.ts";
import { type Instant, MINUTE, parseDuration, SECOND } from "../../util/time.ts";
import type { ConnectionAccess } from "../frame/context.ts";
import { type Account, fromConsole } from "./account.ts";
import { describeAccount } from "./marker.ts";
import type { Attempt, Known, Listing } from "./observe.ts";
import { findExisting, recover, type Wanted } from "./recovery.ts";

/** How long an answer of call 2 that never came may still take effect, on top of its time-out. */
const SETTLE_MS = 10 * SECOND;
const SHORTEST_SETTLE_MS = 20 * SECOND;
const RECHECK_MS = 10 * MINUTE;
/** Many keys may come at once: their account is looked at for them no more often than this. */
const KEYS_LOOK_MS = 10 * SECOND;

/** What has to be asked of the console before anything can be decided. */
export type Look =
  | { readonly kind: "Wait"; readonly ms: number }
  | { readonly kind: "List"; readonly attempt: Attempt | undefined }
  | { readonly kind: "Get"; readonly saId: string }
  | { readonly kind: "Remember"; readonly account: IamServiceAccount }
  | { readonly kind: "Nothing" };

/** What the console answered to it. */
export type Seen =
  | { readonly kind: "Listed"; readonly attempt: Attempt | undefined; readonly listing: Listing }
  | {
      readonly kind: "Got";
      readonly saId: string;
      readonly detail: IamServiceAccountDetail | undefined;
    }
  | Extract<Look, { kind: "Wait" | "Remember" | "Nothing" }>;

export type Action =
  | { readonly kind: "AddFinalizer"; readonly because: string }
  /** The intent, written before the call that cannot be repeated. */
  | { readonly kind: "RecordAttempt"; readonly because: string; readonly id: string }
  | {
      readonly kind: "CreateAccount";
      readonly because: string;
      readonly account: NewServiceAccount;
    }
  | { readonly kind: "CloseAttempt"; readonly because: string }
  | {
      readonly kind: "RecordAccount";
      readonly because: "Imported" | "Recovered" | "Observed" | "Created";
      readonly account: Account;
    };

export interface Decision {
  readonly actions: readonly Action[];
  /** Set where it is not the account itself that decides about readiness. */
  readonly finding?: Readiness;
  readonly requeueAfterMs?: number;
}

export interface Situation {
  readonly known: Known;
  readonly spec: ServiceAccountSpec;
  readonly access: ConnectionAccess;
}

export function lookFor({ known, spec, access }: Situation, now: Instant): Look {
  const { account, attempt, memory } = known;
  if (account !== undefined) {
    return isLookDue(known, now) ? { kind: "Get", saId: account.saId } : { kind: "Nothing" };
  }
  if (spec.saId !== undefined) return { kind: "Get", saId: spec.saId };
  if (attempt === undefined) return { kind: "List", attempt };
  if (memory.created?.attempt === attempt.id) {
    return { kind: "Remember", account: memory.created.account };
  }
  const waitMs = attempt.startTime + settleMs(access) - now;
  return waitMs > 0 ? { kind: "Wait", ms: waitMs } : { kind: "List", attempt };
}

export function isLookDue(known: Known, now: Instant): boolean {
  const { memory, generation, asked } = known;
  return (
    asked !== undefined ||
    memory.observed?.generation !== generation ||
    now >= nextLookAt(known, now)
  );
}

/** At its regular time, or soon after a key came into use that the last look was too early for. */
export function nextLookAt({ memory, unlistedKeyAt }: Known, now: Instant): Instant {
  const { observed } = memory;
  if (observed === undefined) return now;
  const { startTime, nextAt } = observed;
  const isOutdated =
    unlistedKeyAt !== undefined &&
    unlistedKeyAt <= now &&
    // Times in a status have whole seconds.
    unlistedKeyAt >= Math.floor(startTime / SECOND) * SECOND;
  return isOutdated ? Math.min(nextAt, startTime + KEYS_LOOK_MS) : nextAt;
}

export function settleMs({ spec }: ConnectionAccess): number {
  return Math.max(SHORTEST_SETTLE_MS, (parseDuration(spec.limits.timeout) ?? 0) + SETTLE_MS);
}

/** `newAttempt` is the id of the attempt that a creation would be. */
export function plan(
  situation: Situation,
  seen: Seen,
  newAttempt: string,
  isClaimed: (saId: string) => boolean,
): Decision {
  switch (seen.kind) {
    case "Wait":
      return {
        actions: [],
        requeueAfterMs: seen.ms,
        finding: {
          state: "Reconciling",
          reason: "CreateOutcomeUnknown",
          message:
            "The console did not answer the creation; whether it took effect is looked up shortly.",
        },
      };
    case "Nothing":
      return { actions: hold(situation), ...lastFinding(situation) };
    case "Remember":
      return adopt(situation, seen.account, "Created");
    case "Got":
      return planKnown(situation, seen.saId, seen.detail);
    case "Listed":
      return seen.attempt === undefined
        ? planNew(situation, seen.listing, newAttempt)
        : planRecovery(situation, seen.attempt, seen.listing, newAttempt, isClaimed);
  }
}

function lastFinding({ known }: Situation): Pick<Decision, "finding"> {
  const finding = known.memory.observed?.finding;
  return finding === undefined ? {} : { finding };
}

export function wantedOf({ known, spec, access }: Situation): Wanted {
  return {
    key: known.key,
    uid: known.uid,
    orgId: spec.orgId ?? access.spec.orgId,
    projectId: spec.projectId ?? access.spec.projectId ?? "",
    name: spec.name ?? known.key.name,
  };
}

/** What is assumed of an account where the console does not tell. */
export function expectedAccount(
  situation: Situation,
  origin: Account["origin"],
): Omit<Account, "saId" | "state"> {
  const { orgId, projectId } = wantedOf(situation);
  return {
    tpn: undefined,
    orgId,
    projectId: projectId === "" ? undefined : projectId,
    origin,
    liveKeyIds: undefined,
  };
}

/** The first look at an account to import, or another look at one that is managed. */
function planKnown(
  situation: Situation,
  saId: string,
  detail: IamServiceAccountDetail | undefined,
): Decision {
  const { known } = situation;
  if (detail === undefined) return { actions: [], finding: missing(known, saId) };
  const account = fromConsole(detail, known.account ?? expectedAccount(situation, "Imported"));
  const mismatch = mismatchOf(account, situation);
  if (mismatch !== undefined) return { actions: [], finding: mismatch };
  const because = known.account === undefined ? "Imported" : "Observed";
  return { actions: [...hold(situation), { kind: "RecordAccount", because, account }] };
}

function missing({ account }: Known, saId: string): Readiness {
  return account === undefined
    ? {
        state: "Stalled",
        reason: "ServiceAccountNotFound",
        message: `The console does not know service account ${saId}. Correct spec.saId by creating this object anew.`,
      }
    : {
        state: "Stalled",
        reason: "ServiceAccountGone",
        message: `The console no longer knows service account ${saId}. It is not created again by itself: its keys and policies are lost. Delete this object and create it anew to get a new account.`,
      };
}

/** Whether an account to import is another one than the spec describes. */
export function mismatchOf(account: Account, situation: Situation): Readiness | undefined {
  const { spec } = situation;
  if (spec.saId === undefined) return undefined;
  const wanted = wantedOf(situation);
  if (account.orgId !== wanted.orgId) {
    return {
      state: "Stalled",
      reason: "OrganizationMismatch",
      message: `Service account ${account.saId} does not belong to organization ${wanted.orgId} of the connection.`,
    };
  }
  return spec.projectId === undefined || account.projectId === spec.projectId
    ? undefined
    : {
        state: "Stalled",
        reason: "ProjectMismatch",
        message: `Service account ${account.saId} does not belong to project ${spec.projectId}.`,
      };
}

function planNew(situation: Situation, listing: Listing, newAttempt: string): Decision {
  // Without a listing an earlier account cannot be seen; the creation itself does not depend on it.
  const existing = listing.ok
    ? findExisting(listing.accounts, wantedOf(situation))
    : ({ kind: "None" } as const);
  switch (existing.kind) {
    case "Own":
      return adopt(situation, existing.account, "Recovered");
    case "Foreign":
      return {
        actions: closeAttempt(situation),
        requeueAfterMs: RECHECK_MS,
        finding: {
          state: "Stalled",
          reason: "AccountExists",
          message: `The console already has an account named ${wantedOf(situation).name} (${named(existing.saIds)}). Choose another spec.name, or create this object anew with spec.saId to import it.`,
        },
      };
    case "None":
      return { actions: create(situation, newAttempt) };
  }
}

function create(situation: Situation, id: string): readonly Action[] {
  const { key, orgId, projectId, name } = wantedOf(situation);
  const description = describeAccount(situation.spec.description, key, id);
  return [
    ...hold(situation),
    { kind: "RecordAttempt", because: "AccountIsMissing", id },
    {
      kind: "CreateAccount",
      because: "AccountIsMissing",
      account: { orgId, projectId, name, description },
    },
  ];
}

function planRecovery(
  situation: Situation,
  attempt: Attempt,
  listing: Listing,
  newAttempt: string,
  isClaimed: (saId: string) => boolean,
): Decision {
  if (!listing.ok) {
    return { actions: [], finding: unlisted(listing.code), requeueAfterMs: RECHECK_MS };
  }
  const found = recover(listing.accounts, wantedOf(situation), attempt.id, isClaimed);
  switch (found.kind) {
    case "Found":
      return adopt(situation, found.account, "Recovered");
    case "Nothing":
      return planNew(situation, listing, newAttempt);
    case "Ambiguous":
      return { actions: [], finding: ambiguous(found.saIds), requeueAfterMs: RECHECK_MS };
  }
}

export function unlisted(code: string): Readiness {
  return {
    state: "Stalled",
    reason: "CreateOutcomeUnknown",
    message: `The console did not answer the creation, and its accounts cannot be listed (${code}), so it is not known whether the account exists. Look for it at the console: its description names this object. Then create this object anew, with spec.saId if the account exists.`,
  };
}

export function ambiguous(saIds: readonly string[]): Readiness {
  return {
    state: "Stalled",
    reason: "AmbiguousServiceAccount",
    message: `The console did not answer the creation, and several accounts may be the one that was created (${named(saIds)}). Create this object anew with the right one as spec.saId.`,
  };
}

function adopt(
  situation: Situation,
  found: IamServiceAccount,
  because: "Recovered" | "Created",
): Decision {
  const account = fromConsole(found, expectedAccount(situation, "Created"));
  return {
    actions: [
      ...hold(situation),
      ...closeAttempt(situation),
      { kind: "RecordAccount", because, account },
    ],
  };
}

function closeAttempt({ known }: Situation): readonly Action[] {
  return known.attempt === undefined
    ? []
    : [{ kind: "CloseAttempt", because: "AttemptIsAnswered" }];
}

function hold({ known, spec }: Situation): readonly Action[] {
  return known.held || spec.suspend
    ? []
    : [{ kind: "AddFinalizer", because: "FinalizerIsMissing" }];
}

export function named(saIds: readonly string[]): string {
  return saIds.length <= 5
    ? saIds.join(", ")
    : `${saIds.slice(0, 5).join(", ")} and ${saIds.length - 5} more`;
}
