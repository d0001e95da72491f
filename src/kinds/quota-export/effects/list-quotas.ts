import type { ApiKey } from "../../../api/api-key.ts";
import { type IamError, isIamError } from "../../../console/errors.ts";
import type { KeyPair, Quota } from "../../../console/model.ts";
import { keyOf } from "../../../kube/resource.ts";
import { defineEffect } from "../../../reconciler/effects.ts";
import { errorPolicy } from "../../../reconciler/rules/error-policy.ts";
import { failureReadiness, withRequestId } from "../../../reconciler/rules/failure.ts";
import type { ReadContext } from "../../../reconciler/run-context.ts";
import { MINUTE } from "../../../util/time.ts";
import type { PublishedQuotas } from "../published-quotas.ts";
import { explainDenial } from "../rules/denial.ts";
import type { ListingRefusal, QuotaExportKind, QuotaExportSnapshot } from "../rules/snapshot.ts";

/** The operator tries a rejected key again after this long, or when the key changes. */
const REJECTED_PAUSE_MS = 5 * MINUTE;

/** Reads the current key pair from an ApiKey's Secret; `undefined` if the Secret has none. */
export type ReadPair = (apiKey: ApiKey, signal: AbortSignal) => Promise<KeyPair | undefined>;

/** Lists the quotas, publishes them, and returns the snapshot with the result. */
export type ListQuotas = ReturnType<typeof defineListQuotas>;

/**
 * Reads the whole listing. A rejection of the credential or of the call by the console is a finding; any other error
 * rejects.
 */
export function defineListQuotas(readPair: ReadPair, published: PublishedQuotas) {
  return defineEffect<QuotaExportKind, QuotaExportSnapshot, void, QuotaExportSnapshot>({
    kind: "ListQuotas",
    read: async (_, snapshot, run) => {
      const startedAt = run.clock.monotonic();
      const result = await list(snapshot, readPair, run);
      if ("state" in result)
        return { answer: { ...snapshot, listing: { startedAt, refusal: result } } };
      const durationMs = run.clock.monotonic() - startedAt;
      const { object, spec, intervalMs } = snapshot;
      const { clusterId } = spec;
      const listing = { clusterId, quotas: result, intervalMs, durationMs };
      const omitted = await published.publish(keyOf(object), listing);
      return { answer: { ...snapshot, listing: { startedAt, quotas: result, omitted } } };
    },
  });
}

async function list(
  snapshot: QuotaExportSnapshot,
  readPair: ReadPair,
  { console, signal }: ReadContext<QuotaExportKind>,
): Promise<readonly Quota[] | ListingRefusal> {
  const { connection, credential, spec } = snapshot;
  if (!connection.ok) throw new Error("a listing needs a connection");
  const key = credential.kind === "Key" ? await readPair(credential.apiKey, signal) : undefined;
  if (credential.kind === "Key" && key === undefined) return NO_PAIR;
  const { clusterId, namespaces, filterNames } = spec;
  const { session } = connection.access;
  try {
    const input = { clusterId, namespaces, filterNames, key };
    return await console(session).listResourceQuotas(input, signal);
  } catch (error) {
    const refusal = refusalOf(error, snapshot);
    if (refusal === undefined || signal.aborted) throw error;
    return refusal;
  }
}

const NO_PAIR: ListingRefusal = {
  state: "Reconciling",
  reason: "WaitingForApiKey",
  message: "The ApiKey's Secret does not hold its key.",
};

function refusalOf(
  error: unknown,
  { credential, intervalMs }: QuotaExportSnapshot,
): ListingRefusal | undefined {
  if (credential.kind === "Key" && isIamError(error, "Unauthenticated"))
    return {
      state: "Stalled",
      reason: "KeyRejected",
      message: rejection(error, credential.apiKey),
      pauseMs: REJECTED_PAUSE_MS,
    };
  if (!isIamError(error) || errorPolicy(error).kind !== "Terminal") return undefined;
  const readiness = failureReadiness(error);
  const message =
    error.code === "PermissionDenied" ? explainDenial(error, credential) : readiness?.message;
  return { state: "Stalled", reason: error.code, message: message ?? "", pauseMs: intervalMs };
}

function rejection(error: IamError, { metadata, status }: ApiKey): string {
  const rejected = `The console does not accept key ${status?.current?.keyId ?? ""} of ApiKey ${metadata.name}`;
  return `${withRequestId(rejected, error)}: it is missing, inactive or expired, or its account is inactive. It is tried again after spec.interval, at least five minutes, and when the key changes.`;
}
