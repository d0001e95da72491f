import fc from "fast-check";
import { API_VERSION } from "../../../../src/api/meta.ts";
import { parseSpec } from "../../../../src/api/parse-spec.ts";
import {
  type ResourceQuotaExport,
  resourceQuotaExportKind,
} from "../../../../src/api/resource-quota-export.ts";
import { defineListQuotas } from "../../../../src/kinds/quota-export/effects/list-quotas.ts";
import type { Credential } from "../../../../src/kinds/quota-export/rules/credential.ts";
import { report } from "../../../../src/kinds/quota-export/rules/report.ts";
import type {
  Listing,
  QuotaExportKind,
  QuotaExportSnapshot,
} from "../../../../src/kinds/quota-export/rules/snapshot.ts";
import { reconcileQuotaExport } from "../../../../src/kinds/quota-export/run.ts";
import { reconciling, stalled } from "../../../../src/reconciler/rules/waiting.ts";
import { MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { ago, maybe, mostly, type Requeued, type Situation } from "../requeue.ts";
import { access, NOW } from "../service-account/objects.ts";

const listQuotas = defineListQuotas(async () => undefined, {} as never);
const rules: Requeued<QuotaExportKind>["rules"] = {
  run: (start, readNow) =>
    reconcileQuotaExport(start, readNow, function* (snapshot) {
      return snapshot.listing === undefined ? yield* listQuotas(snapshot) : snapshot;
    }),
  report,
};
const refusal = { state: "Stalled", reason: "NotFound", message: "no" } as const;
const situations = fc
  .record({
    suspend: mostly(false, true),
    intervalMs: fc.constantFrom(MINUTE, 10 * MINUTE, 60 * MINUTE),
    connection: mostly<QuotaExportSnapshot["connection"]>(
      { ok: true, access },
      { ok: false, waiting: reconciling("ConnectionNotReady", "wait") },
      { ok: false, waiting: stalled("NotGranted", "wait") },
    ),
    credential: mostly<Credential>(
      { kind: "Bearer" },
      { kind: "Waiting", message: "wait" },
      { kind: "Mismatch", message: "no" },
    ),
    lastSuccess: maybe(ago),
    notBefore: maybe(fc.integer({ min: 0, max: 60 * MINUTE }).map((ms) => 400_000 + ms)),
    listing: mostly<Listing | undefined>(
      undefined,
      { startedAt: 999_000, quotas: [], omitted: 0 },
      { startedAt: 999_000, refusal: { ...refusal, pauseMs: 1_000 } },
      { startedAt: 999_000, refusal },
    ),
  })
  .map((drawn): Situation<QuotaExportKind> => {
    const { suspend, intervalMs, connection, credential, lastSuccess, notBefore, listing } = drawn;
    const parsed = parseSpec(resourceQuotaExportKind, { spec: { clusterId: 1, suspend } });
    if (!parsed.ok) throw new Error(parsed.message);
    const metadata = {
      namespace: "team-a",
      name: "quotas",
      uid: "q1",
      resourceVersion: "1",
      generation: 1,
    };
    const lastSuccessTime = lastSuccess === undefined ? undefined : toIso8601(NOW - lastSuccess);
    const object: ResourceQuotaExport = {
      apiVersion: API_VERSION,
      kind: "ResourceQuotaExport",
      metadata,
      spec: parsed.spec,
      ...(lastSuccessTime === undefined
        ? {}
        : { status: { lastSuccessTime, observedGeneration: 1 } }),
    };
    const state =
      notBefore === undefined ? undefined : { generation: 1, request: undefined, notBefore };
    const snapshot = {
      object,
      spec: parsed.spec,
      intervalMs,
      connection,
      credential,
      rights: "r",
      request: undefined,
      state,
      ...(listing && { listing }),
    };
    return { snapshot, spec: parsed.spec, done: listing };
  });

export const requeued: Requeued<QuotaExportKind> = { rules, situations, now: NOW };
