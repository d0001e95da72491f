/** The data of a run over one account and its PolicyBindings. */
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import type { ServiceAccount, ServiceAccountStatus } from "../../../api/service-account.ts";
import type { IamError } from "../../../console/errors.ts";
import type { Effect } from "../../../console/evidence.ts";
import type { LiveBindings } from "../../../console/model.ts";
import type {
  KindTypes,
  Performed,
  Progress,
  ReadContext,
  RunContext,
} from "../../../reconciler/run-context.ts";
import type { Instant } from "../../../util/time.ts";
import type { AccountRef } from "../account-store.ts";
import type { PolicySet } from "./policy-set.ts";
import type { AccountBindingsState } from "./state.ts";
import type { AccountAvailability, BindingView, UnavailableAccount } from "./views.ts";

export interface AccountBindingsKind extends KindTypes {
  readonly Object: AccountRef;
  readonly Spec: { readonly suspend: boolean };
  readonly Snapshot: BindingsSnapshot;
  readonly Done: BindingsDone;
  readonly Action: BindingsAction;
  readonly State: AccountBindingsState | undefined;
}

export type BindingsProgress = Progress<AccountBindingsKind>;
export type BindingsReading = ReadContext<AccountBindingsKind>;
export type BindingsRun = RunContext<AccountBindingsKind>;

/**
 * What a run has read. `ListBindings` adds the console's answer and `ReadLive` replaces the objects from the caches;
 * writes change only `objects`, so that the run decides the same after every write.
 */
export interface BindingsSnapshot {
  readonly object: AccountRef;
  /** `Behind`: the caches have not seen the operator's own last writes, so the snapshot is empty. */
  readonly source: "Behind" | "Caches" | "Server";
  /** When the run started; fixed, so that no rule decides differently between two actions. */
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
}

export interface BindingsDone {
  /** The ServiceAccount is not the object in the caches, or names a different account. */
  readonly accountReplaced?: boolean;
  /** What a read after syncBindings showed; absent without a call. */
  readonly synced?: Exclude<Effect, "NotShown">;
  /** The console's spellings of declared policies in that read, if it spells them in another way. */
  readonly respelled?: PolicySet;
  readonly recorded?: boolean;
  /** The policies that this run recorded as still to be unbound. */
  readonly unrevoked?: PolicySet;
  /** The console rejected the submitted list. */
  readonly refusal?: IamError;
  readonly refusalAttributed?: boolean;
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

export interface Intent {
  readonly uid: string;
  readonly policyIds: PolicySet;
}

export type BindingsAction =
  /** listBindings. */
  | { readonly kind: "ListBindings" }
  /** Reads the account and all its PolicyBindings from the API server. */
  | { readonly kind: "ReadLive" }
  /** Before anything is bound, so that a deletion cannot finish before its policies are unbound. */
  | { readonly kind: "AddFinalizers"; readonly uids: readonly string[] }
  /** Before the PUT, so that after a crash an object accounts for every policy (S11); taken back after a rejection. */
  | { readonly kind: "WriteIntents"; readonly intents: readonly Intent[] }
  /** syncBindings. */
  | {
      readonly kind: "SyncBindings";
      readonly policyIds: PolicySet;
      /** The policies in `policyIds` that PolicyBindings declare. */
      readonly ours: PolicySet;
      /** The policies bound before the call, as far as they are known. */
      readonly before: PolicySet;
      readonly reason: "PoliciesSynced" | "DriftCorrected" | "AccessRevoked" | "PoliciesReappeared";
      readonly isDrift: boolean;
      /** Policies that a call without a usable response has bound late. */
      readonly reappeared: PolicySet;
      /** Objects whose policies the call binds for the first time: they may be the cause of a rejection. */
      readonly suspects: readonly BindingView[];
    }
  /** listPolicies. */
  | {
      readonly kind: "AttributeRefusal";
      readonly refusal: IamError;
      readonly suspects: readonly BindingView[];
      readonly before: PolicySet;
    }
  | {
      readonly kind: "RecordBindings";
      readonly bindings: BindingsStatus;
      /** Foreign policies that the record does not contain yet. */
      readonly foundForeign: PolicySet;
    }
  /** Before a revocation is given up, so that the operator unbinds these policies later. */
  | { readonly kind: "RecordUnrevoked"; readonly policyIds: PolicySet }
  | {
      readonly kind: "RemoveFinalizers";
      readonly uids: readonly string[];
      readonly because: ReleaseCause;
    };

export type BindingsStatus = NonNullable<ServiceAccountStatus["bindings"]>;
export type BindingsActionOf<Kind> = Extract<BindingsAction, { readonly kind: Kind }>;
export type BindingsPerformed = Performed<AccountBindingsKind>;
