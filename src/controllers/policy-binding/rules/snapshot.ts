/** What a run over one account and its PolicyBindings works with, as data. */
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import type { ServiceAccount, ServiceAccountStatus } from "../../../api/service-account.ts";
import type { IamClient } from "../../../iam/client/client.ts";
import type { IamError } from "../../../iam/errors.ts";
import type { LiveBindings } from "../../../iam/model.ts";
import type { Instant } from "../../../util/time.ts";
import type { KindTypes, Progress, ReconcileContext } from "../../frame/kind-controller.ts";
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
export type BindingsRun = ReconcileContext<AccountBindingsKind["State"]>;

/** All but `objects` stays as it was read, so that the run decides the same after every action. */
export interface BindingsSnapshot {
  readonly object: AccountRef;
  /** `Behind`: the caches have not seen our own last writes, and say nothing. */
  readonly source: "Behind" | "Caches" | "Server";
  /** When the run started; no rule changes its mind between two actions. */
  readonly now: Instant;
  readonly account: ServiceAccount | undefined;
  readonly availability: AccountAvailability;
  /** Present where the account is usable. */
  readonly client: IamClient | undefined;
  readonly bindings: readonly BindingView[];
  /** The stored PolicyBindings as this run's writes have left them, by uid; released ones are gone. */
  readonly objects: ReadonlyMap<string, PolicyBinding>;
  /** The console's answer in this run; `undefined` where it has not been asked. */
  readonly live: LiveBindings | undefined;
  /** As the run found it; `undefined` without a ServiceAccount. */
  readonly state: AccountBindingsState | undefined;
}

export interface BindingsDone {
  /** The ServiceAccount is a different object than the caches hold, or names a different account. */
  readonly accountReplaced?: boolean;
  readonly synced?: boolean;
  readonly recorded?: boolean;
  /** The console judged the submitted list and did not take it. */
  readonly refusal?: IamError;
  readonly refusalAttributed?: boolean;
}

/** Why a PolicyBinding may go. */
export type ReleaseCause =
  | NonNullable<UnavailableAccount["endsAs"]>
  | "Revoked"
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
  /** The account and all its PolicyBindings, from the API server. */
  | { readonly kind: "ReadLive" }
  /** Before anything is bound, so that a deletion cannot overtake the revocation. */
  | { readonly kind: "AddFinalizers"; readonly uids: readonly string[] }
  /** Before the PUT, so that a crash leaves no policy that nobody accounts for (S11); taken back after a refusal. */
  | { readonly kind: "WriteIntents"; readonly intents: readonly Intent[] }
  /** syncBindings. */
  | {
      readonly kind: "SyncBindings";
      readonly policyIds: PolicySet;
      /** Of these, what PolicyBindings declare. */
      readonly ours: PolicySet;
      /** What is bound before, as far as it is known. */
      readonly before: PolicySet;
      readonly reason: "PoliciesSynced" | "DriftCorrected" | "AccessRevoked" | "PoliciesReappeared";
      readonly isDrift: boolean;
      /** What a call without a usable response has bound late. */
      readonly reappeared: PolicySet;
      /** Objects whose policies it binds for the first time: whose fault a refusal may be. */
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
      /** Policies of others that no record has had before. */
      readonly foundForeign: PolicySet;
    }
  | {
      readonly kind: "RemoveFinalizers";
      readonly uids: readonly string[];
      readonly because: ReleaseCause;
    };

export type BindingsStatus = NonNullable<ServiceAccountStatus["bindings"]>;
export type BindingsActionOf<Kind> = Extract<BindingsAction, { readonly kind: Kind }>;
export type PerformBindings<Kind> = (
  action: BindingsActionOf<Kind>,
  progress: BindingsProgress,
  run: ReconcileContext<AccountBindingsKind["State"]>,
) => Promise<BindingsProgress>;
