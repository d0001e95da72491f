/** What a run over a ResourceQuotaExport works with, as data. */
import type {
  ResourceQuotaExport,
  ResourceQuotaExportSpec,
} from "../../../api/resource-quota-export.ts";
import type { Quota } from "../../../iam/model.ts";
import type { ConnectionLookup } from "../../frame/context.ts";
import type { KindTypes } from "../../frame/kind-controller.ts";
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
  /** What decides in the console whether this credential may list, as far as it is known here. */
  readonly rights: string;
  /** The value of the annotation by which a person asks for a listing. */
  readonly request: string | undefined;
  readonly state: QuotaExportState | undefined;
}

/** What became of the listing of this run. Times are of the monotonic clock, in milliseconds. */
export interface QuotaExportDone {
  readonly startedAt?: number;
  readonly durationMs?: number;
  readonly quotas?: readonly Quota[];
  /** How many of them have no metrics, because the number of series is limited. */
  readonly omitted?: number;
  readonly refusal?: ListingRefusal;
}

/** The console, or the Secret, does not let this credential list. */
export interface ListingRefusal {
  readonly state: "Reconciling" | "Stalled";
  readonly reason: string;
  readonly message: string;
  /** No sooner again, unless the rights change. */
  readonly pauseMs?: number;
}

/** listResourceQuotas, every page of it: the listing is taken as a whole or not at all. */
export interface ListQuotas {
  readonly kind: "ListQuotas";
}

/** What the process remembers about one export. */
export interface QuotaExportState {
  readonly generation: number | undefined;
  readonly request: string | undefined;
  /** Monotonic: no listing before. */
  readonly notBefore: number;
  /** The rights that the console refused, and how often in a row. */
  readonly refused?: { readonly rights: string; readonly count: number };
}
