/** Dry runs of the writes that deliver a new pair. */
import { SECRET_LENGTH } from "../../../console/model.ts";
import { isKubeError, isRefusedWrite } from "../../../kube/errors.ts";
import { keyOf } from "../../../kube/resource.ts";
import type { DryRun } from "../../../reconciler/run-context.ts";
import { settleAll } from "../../../reconciler/settle-all.ts";
import { type Secret, secretType } from "../../../resources/resource-types.ts";
import { Redacted } from "../../../util/redacted.ts";
import { readSecret } from "../read-secret.ts";
import { postponed, rehearsed } from "../rules/rehearsal.ts";
import { reportedTrial } from "../rules/reported-refusal.ts";
import { expiryOf } from "../rules/schedule.ts";
import type {
  ApiKeyReading,
  ApiKeySnapshot,
  Rehearsal,
  Trial,
  UnkeptSecret,
} from "../rules/snapshot.ts";
import { describe, differences } from "../secret/differences.ts";
import type { SecretOwner } from "../secret/owner.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { targetPatch } from "../secret/patch.ts";
import { dryRunSecret, pendingSecret, targetSecret } from "../secret/render.ts";
import { keyEffect, readyAccount, remembering } from "./define.ts";

/**
 * Contains characters that JSON must escape: an entry that must be JSON is rejected now unless it is valid for every
 * secret.
 */
const SAMPLE_SECRET = new Redacted(`"\\`.padEnd(SECRET_LENGTH, "x"));

/** Rehearses the next key. A rehearsal that shows nothing is repeated after an hour, and fails no run. */
export const rehearse = keyEffect<void>({
  kind: "Rehearse",
  read: async (_, snapshot, run) => {
    const monotonic = run.clock.monotonic();
    const rehearsal = await tryWrites(snapshot, run).then(
      (trial) => rehearsed(snapshot, trial, monotonic),
      (error: unknown): Rehearsal => {
        if (!isKubeError(error)) throw error;
        return postponed(snapshot, monotonic);
      },
    );
    return { answer: { ...snapshot, rehearsal }, remember: remembering({ rehearsal }) };
  },
});

/**
 * Tries both writes as they will be; for a first key, one that stands for both. The API server rejects now what it would
 * reject later, and shows what it would change. Rejects if the API server gives no answer about them.
 */
export async function tryWrites(snapshot: ApiKeySnapshot, run: ApiKeyReading): Promise<Trial> {
  // The user of a plan may not have permission to write Secrets.
  if (run.dryRun === undefined) return reportedTrial(snapshot);
  const { self, spec, status, target } = snapshot;
  const pair = samplePair(snapshot, run);
  if (status.current === undefined && !("secret" in target)) {
    const { values } = readyAccount(snapshot);
    return tryPending(snapshot, dryRunSecret(self, spec, values, pair), run, run.dryRun);
  }
  const [inPending, inTarget] = await settleAll([
    tryPending(snapshot, pendingSecret(self, spec, pair, "dry-run"), run, run.dryRun),
    tryTarget(snapshot, pair, run.dryRun),
  ]);
  return { ...inTarget, ...inPending };
}

function samplePair(snapshot: ApiKeySnapshot, { clock }: ApiKeyReading): IssuedPair {
  const { spec } = snapshot;
  const issueTime = clock.now();
  return {
    keyId: "sak_dry_run",
    secret: SAMPLE_SECRET,
    issueTime,
    expirationTime: expiryOf(issueTime, spec.expiresInDays),
    revision: 1,
    serviceAccount: spec.serviceAccountRef.name,
    saId: readyAccount(snapshot).saId,
  };
}

async function tryPending(
  { self, spec }: ApiKeySnapshot,
  wanted: Secret,
  run: ApiKeyReading,
  { create }: DryRun,
): Promise<Trial> {
  try {
    return compare(await create(secretType, wanted), wanted, self);
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists")) return refused(error);
    const pending = await readSecret(run, self, spec, "pending", run.signal);
    // The Secret was deleted in between.
    if (pending.kind === "Absent") throw error;
    return { pending };
  }
}

async function tryTarget(
  snapshot: ApiKeySnapshot,
  pair: IssuedPair,
  { create, mergePatch }: DryRun,
): Promise<Trial> {
  const { self, spec, status, target } = snapshot;
  const { keyId } = status.current ?? {};
  const previous = keyId === undefined ? undefined : { keyId, secret: SAMPLE_SECRET };
  const wanted = targetSecret(self, spec, readyAccount(snapshot).values, { pair, previous });
  try {
    const answered =
      "secret" in target
        ? await mergePatch(secretType, keyOf(wanted), targetPatch(target, wanted, self))
        : await create(secretType, wanted);
    return compare(answered, wanted, self);
  } catch (error) {
    return refused(error);
  }
}

function compare(answered: Secret, wanted: Secret, owner: SecretOwner): Trial {
  const vital = differences(answered, wanted, owner).filter(({ isVital }) => isVital);
  if (vital.length === 0) return {};
  const notKept: UnkeptSecret = { name: wanted.metadata.name, what: describe(vital) };
  return { notKept };
}

function refused(error: unknown): Trial {
  if (isRefusedWrite(error)) return { refusal: error };
  throw error;
}
