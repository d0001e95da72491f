/** The data of a run over one account and its PolicyBindings. */
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import type { ServiceAccount, ServiceAccountStatus } from "../../../api/service-account.ts";
import type { Effect } from "../../../console/evidence.ts";
import type { LiveBindings } from "../../../console/model.ts";
import type { Effects, Ended } from "../../../reconciler/effects.ts";
import type { KindTypes, ReadContext, RunContext } from "../../../reconciler/run-context.ts";
import type { Instant } from "../../../util/time.ts";
import type { AccountRef } from "../account-store.ts";
import type { Spellings } from "./ledger.ts";
import type { PolicySet } from "./policy-set.ts";
import type { AccountBindingsState } from "./state.ts";
import type { AccountAvailability, BindingView, UnavailableAccount } from "./views.ts";

export interface AccountBindingsKind extends KindTypes {
  readonly Object: AccountRef;
  readonly Snapshot: BindingsSnapshot;
  readonly State: AccountBindingsState | undefined;
}

/** A run over an account, or a part of it. */
export type BindingsEffects<Result> = Effects<AccountBindingsKind, Result>;
export type BindingsEnded = Ended<AccountBindingsKind>;
export type BindingsReading = ReadContext<AccountBindingsKind>;
export type BindingsRun = RunContext<AccountBindingsKind>;

/**
 * What a run knows. `listBindings` adds the console's answer and `readObjects` replaces the objects from the caches;
 * writes change only `objects`, so the decision stays the same.
 */
export interface BindingsSnapshot {
  readonly object: AccountRef;
  /** `Behind`: the caches have not seen the operator's own last writes, so the snapshot is empty. */
  readonly source: "Behind" | "Caches" | "Server";
  /** When the objects were read. */
  readonly now: Instant;
  readonly account: ServiceAccount | undefined;
  readonly availability: AccountAvailability;
  /** The console session; present if the account is usable. */
  readonly session: number | undefined;
  readonly bindings: readonly BindingView[];
  /** The stored PolicyBindings after this run's writes, by uid, without the released PolicyBindings. */
  readonly objects: ReadonlyMap<string, PolicyBinding>;
  /** The console's answer in this run; `undefined` before listBindings. */
  readonly live: LiveBindings | undefined;
  /** The state at the start of the run; `undefined` without a ServiceAccount. */
  readonly state: AccountBindingsState | undefined;
  /** Absent before this run has called syncBindings. */
  readonly synced?: Synced;
}

/** What a read after syncBindings showed. */
export interface Synced {
  readonly effect: Exclude<Effect, "NotShown">;
  /** The console's spellings of declared policies. */
  readonly spellings: Spellings;
  /** Only in a plan: policies that the console probably refuses, by the uid of the PolicyBinding. */
  readonly refused?: ReadonlyMap<string, PolicySet> | undefined;
}

/** Why the finalizer of a PolicyBinding is removed. */
export type ReleaseCause =
  | NonNullable<UnavailableAccount["endsAs"]>
  | "Revoked"
  /** The console accepted the change, and does not show the bound policies. */
  | "Unconfirmed"
  | "Retained"
  | "NothingBound"
  | "GaveUp";

export type BindingsStatus = NonNullable<ServiceAccountStatus["bindings"]>;
