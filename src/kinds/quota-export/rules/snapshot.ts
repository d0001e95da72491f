/** The data of a run over a ResourceQuotaExport. */
import type {
  ResourceQuotaExport,
  ResourceQuotaExportSpec,
} from "../../../api/resource-quota-export.ts";
import type { Quota } from "../../../console/model.ts";
import type { ConnectionLookup } from "../../../reconciler/context.ts";
import type { Effects, Ended } from "../../../reconciler/effects.ts";
import type { KindTypes } from "../../../reconciler/run-context.ts";
import type { Credential } from "./credential.ts";

export interface QuotaExportKind extends KindTypes {
  readonly Object: ResourceQuotaExport;
  readonly Spec: ResourceQuotaExportSpec;
  readonly Snapshot: QuotaExportSnapshot;
  readonly State: QuotaExportState;
}

export type QuotaExportEffects<Result> = Effects<QuotaExportKind, Result>;

export type QuotaExportEnded = Ended<QuotaExportKind>;

export interface QuotaExportSnapshot {
  readonly object: ResourceQuotaExport;
  readonly spec: ResourceQuotaExportSpec;
  readonly intervalMs: number;
  readonly connection: ConnectionLookup;
  readonly credential: Credential;
  /** The known facts that decide whether this credential has permission to list, as text. */
  readonly rights: string;
  /** The value of the annotation that a person uses to request a listing. */
  readonly request: string | undefined;
  readonly state: QuotaExportState | undefined;
  /** Absent before this run has listed. */
  readonly listing?: Listing;
}

/** All pages, or a refusal: a listing is used completely or not at all. */
export type Listing =
  | {
      /** Milliseconds of the monotonic clock. */
      readonly startedAt: number;
      readonly quotas: readonly Quota[];
      /** How many of the quotas have no metrics because the number of series is limited. */
      readonly omitted: number;
      readonly refusal?: undefined;
    }
  | { readonly startedAt: number; readonly quotas?: undefined; readonly refusal: ListingRefusal };

/** The listing is not possible with this credential, because of the console or the ApiKey's Secret. */
export interface ListingRefusal {
  readonly state: "Reconciling" | "Stalled";
  readonly reason: string;
  readonly message: string;
  /** Milliseconds before the next attempt, unless the rights change. */
  readonly pauseMs?: number;
}

/** The process state of one export. */
export interface QuotaExportState {
  readonly generation: number | undefined;
  readonly request: string | undefined;
  /** No listing before this time, in milliseconds of the monotonic clock. */
  readonly notBefore: number;
  /** The rights at the last rejection, and the number of consecutive rejections. */
  readonly refused?: { readonly rights: string; readonly count: number };
}
