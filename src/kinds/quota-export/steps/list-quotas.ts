import type { ApiKey } from "../../../api/api-key.ts";
import { type IamError, isIamError } from "../../../console/errors.ts";
import type { KeyPair, Quota } from "../../../console/model.ts";
import type { ConnectionAccess } from "../../../reconciler/context.ts";
import { errorPolicy } from "../../../reconciler/rules/error-policy.ts";
import { failureReadiness, withRequestId } from "../../../reconciler/rules/failure.ts";
import type { Progress, ReadContext } from "../../../reconciler/run-context.ts";
import { MINUTE } from "../../../util/time.ts";
import { explainDenial } from "../rules/denial.ts";
import type { ListingRefusal, QuotaExportKind, QuotaExportSnapshot } from "../rules/snapshot.ts";

/** The operator tries a rejected key again after this long, or when the key changes. */
const REJECTED_PAUSE_MS = 5 * MINUTE;

/** Reads the current key pair from an ApiKey's Secret; `undefined` if the Secret has none. */
export type ReadPair = (apiKey: ApiKey, signal: AbortSignal) => Promise<KeyPair | undefined>;

/**
 * Reads the whole listing. A rejection of the credential or of the call by the console is a finding; any other error
 * rejects.
 */
export async function listQuotas(
  readPair: ReadPair,
  { snapshot }: Progress<QuotaExportKind>,
  run: ReadContext<QuotaExportKind>,
): Promise<Progress<QuotaExportKind>> {
  const { connection, credential } = snapshot;
  const startedAt = run.clock.monotonic();
  const pair =
    credential.kind === "Key" ? await readPair(credential.apiKey, run.signal) : undefined;
  if (credential.kind === "Key" && pair === undefined)
    return { snapshot, done: { startedAt, refusal: NO_PAIR } };
  if (!connection.ok) throw new Error("a listing needs a connection");
  try {
    const quotas = await list(connection.access, snapshot, pair, run);
    return { snapshot, done: { startedAt, durationMs: run.clock.monotonic() - startedAt, quotas } };
  } catch (error) {
    const refusal = refusalOf(error, snapshot);
    if (refusal === undefined || run.signal.aborted) throw error;
    return { snapshot, done: { startedAt, refusal } };
  }
}

function list(
  { session }: ConnectionAccess,
  { spec: { clusterId, namespaces, filterNames } }: QuotaExportSnapshot,
  pair: KeyPair | undefined,
  { console, signal }: ReadContext<QuotaExportKind>,
): Promise<readonly Quota[]> {
  const input = { clusterId, namespaces, filterNames, key: pair };
  return console(session).listResourceQuotas(input, signal);
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
  return `${withRequestId(rejected, error)}: it is missing, inactive or expired, or its account is inactive. It is tried again within five minutes, and when the key changes.`;
}
