/** The data of a run over a ResourceQuotaExport. */
import type {
  ResourceQuotaExport,
  ResourceQuotaExportSpec,
} from "../../../api/resource-quota-export.ts";
import type { Quota } from "../../../console/model.ts";
import type { ConnectionLookup } from "../../../reconciler/context.ts";
import type { KindTypes } from "../../../reconciler/run-context.ts";
import type { Credential } from "./credential.ts";

export interface QuotaExportKind extends KindTypes {
  readonly Object: ResourceQuotaExport;
  readonly Spec: ResourceQuotaExportSpec;
  readonly Snapshot: QuotaExportSnapshot;
  readonly Done: QuotaExportDone;
  readonly Action: ListQuotas;
  readonly State: QuotaExportState;
}

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
}

/** The result of this run's listing. Times are milliseconds of the monotonic clock. */
export interface QuotaExportDone {
  readonly startedAt?: number;
  readonly durationMs?: number;
  readonly quotas?: readonly Quota[];
  /** How many of the quotas have no metrics because the number of series is limited. */
  readonly omitted?: number;
  readonly refusal?: ListingRefusal;
}

/** The listing is not possible with this credential, because of the console or the ApiKey's Secret. */
export interface ListingRefusal {
  readonly state: "Reconciling" | "Stalled";
  readonly reason: string;
  readonly message: string;
  /** Milliseconds before the next attempt, unless the rights change. */
  readonly pauseMs?: number;
}

/** listResourceQuotas, all pages: the listing is used completely or not at all. */
export interface ListQuotas {
  readonly kind: "ListQuotas";
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
