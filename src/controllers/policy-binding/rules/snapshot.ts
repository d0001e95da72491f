/** What a run over one account and its PolicyBindings works with, as data. */
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import type { ServiceAccount, ServiceAccountStatus } from "../../../api/service-account.ts";
import type { IamClient } from "../../../iam/client.ts";
import type { IamError } from "../../../iam/errors.ts";
import type { LiveBindings } from "../../../iam/model.ts";
import type { Instant } from "../../../util/time.ts";
import type { KindTypes, Progress, ReconcileContext } from "../../frame/kind-controller.ts";
import type { AccountRef } from "../account-store.ts";
import type { PolicySet } from "./policy-set.ts";
import type { AccountBindingsState } from "./state.ts";
import type { AccountAvailability, BindingView } from "./views.ts";

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
  /** The ServiceAccount is another one than the caches say. */
  readonly accountReplaced?: boolean;
  readonly synced?: boolean;
  readonly recorded?: boolean;
  /** The console judged the submitted list and did not take it. */
  readonly refusal?: IamError;
  readonly refusalAttributed?: boolean;
}

/** Why a PolicyBinding may go. */
export type ReleaseCause =
  | "Revoked"
  | "Retained"
  | "NothingBound"
  | "AccountMissing"
  | "AccountDeleting"
  | "AccountGone"
  | "GaveUp";

export interface Intent {
  readonly uid: string;
  readonly policyIds: PolicySet;
}

export interface AddFinalizers {
  readonly kind: "AddFinalizers";
  readonly uids: readonly string[];
}

export interface RemoveFinalizers {
  readonly kind: "RemoveFinalizers";
  readonly uids: readonly string[];
  readonly because: ReleaseCause;
}

export interface WriteIntents {
  /** Before the PUT, so that a crash leaves no policy that nobody accounts for (S11); after a refusal, back. */
  readonly kind: "RecordIntents" | "TakeBackIntents";
  readonly intents: readonly Intent[];
}

export interface SyncBindings {
  readonly kind: "SyncBindings";
  readonly tpn: string;
  readonly orgId: string;
  readonly policyIds: PolicySet;
  /** What is bound before, as far as it is known. */
  readonly before: PolicySet;
  readonly reason: "PoliciesSynced" | "DriftCorrected" | "AccessSuspended";
  readonly isDrift: boolean;
  /** Whether it binds policies for the first time, so that a refusal is some object's fault. */
  readonly hasNewPolicies: boolean;
}

export interface AttributeRefusal {
  readonly kind: "AttributeRefusal";
  readonly orgId: string;
  readonly refusal: IamError;
  /** Whose new policies the refused list would have bound. */
  readonly suspects: readonly BindingView[];
  readonly before: PolicySet;
}

export interface RecordBindings {
  readonly kind: "RecordBindings";
  readonly bindings: NonNullable<ServiceAccountStatus["bindings"]>;
  /** Policies of others that no record has had before. */
  readonly foundForeign: PolicySet;
}

export type BindingsAction =
  /** Call 9. */
  | { readonly kind: "ListBindings" }
  /** The account and all its PolicyBindings from the API server: what a PUT or the end of an object is decided on. */
  | { readonly kind: "ReadLive" }
  | AddFinalizers
  | WriteIntents
  | SyncBindings
  | AttributeRefusal
  | RecordBindings
  | RemoveFinalizers;
