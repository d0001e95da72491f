/** Writes to the PolicyBindings of an account, and to the ServiceAccount itself. */
import { BINDINGS_FIELD_MANAGER } from "../../../api/meta.ts";
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import { toIso8601 } from "../../../util/time.ts";
import { addFinalizer, removeFinalizer } from "../../frame/finalizers.ts";
import { PartialFailure } from "../../frame/rules/outcome.ts";
import { writeStatus } from "../../frame/status-writer.ts";
import { recordEvent } from "../../frame/write-report.ts";
import { policyBindingType, serviceAccountType } from "../../resource-types.ts";
import { isUsable } from "../rules/choose.ts";
import { listed } from "../rules/policy-set.ts";
import type {
  BindingsProgress,
  BindingsRun,
  BindingsSnapshot,
  BindingsStatus,
  PerformBindings,
  ReleaseCause,
} from "../rules/snapshot.ts";
import type { UsableAccount } from "../rules/views.ts";

export const addFinalizers: PerformBindings<"AddFinalizers"> = ({ uids }, progress, run) =>
  writeEach(uids, progress, run.signal, (object) => addFinalizer(run, policyBindingType, object));

/** Writes `status.appliedPolicyIds` of each object and keeps the other fields of the status. */
export const writeIntents: PerformBindings<"WriteIntents"> = ({ intents }, progress, run) => {
  const { signal } = run;
  const wanted = new Map(intents.map(({ uid, policyIds }) => [uid, policyIds]));
  return writeEach([...wanted.keys()], progress, signal, (object) => {
    const appliedPolicyIds = [...(wanted.get(object.metadata.uid) ?? [])];
    const status = { ...object.status, appliedPolicyIds };
    return writeStatus(run, policyBindingType, object, status, { signal });
  });
};

/** Removes finalizers and records events about policies that stay bound. */
export const removeFinalizers: PerformBindings<"RemoveFinalizers"> = (
  { uids, because },
  progress,
  run,
) => {
  const applied = new Map(progress.snapshot.bindings.map((each) => [each.uid, each.applied]));
  const retainRefused = new Set(
    progress.snapshot.bindings.filter((each) => each.retainRefused).map(({ uid }) => uid),
  );
  return writeEach(uids, progress, run.signal, async (object) => {
    await removeFinalizer(run, policyBindingType, object);
    const left = applied.get(object.metadata.uid) ?? [];
    if (because === "Revoked" && left.length > 0 && retainRefused.has(object.metadata.uid))
      recordEvent(run, object, {
        type: "Warning",
        reason: "RetainNotGranted",
        action: "RemoveFinalizer",
        note: `The grant of the connection does not allow to retain policies: ${listed(left)} were unbound.`.slice(
          0,
          1_000,
        ),
      });
    const why = LEFT_BOUND[because];
    if (why !== undefined && left.length > 0)
      recordEvent(run, object, {
        type: "Warning",
        reason: "PoliciesNotRevoked",
        action: "RemoveFinalizer",
        note: `${why} These policies stay bound: ${listed(left)}.`.slice(0, 1_000),
      });
    return undefined;
  });
};

/** Why policies stay bound. No entry if they are unbound or will be unbound. */
const LEFT_BOUND: Partial<Readonly<Record<ReleaseCause, string>>> = {
  Retained: "The PolicyBinding is gone without revoking.",
  AccountMissing: "The ServiceAccount does not exist.",
  AccountGone: "The account does not exist in the console.",
  GaveUp: "The console did not accept the change in time.",
};

/**
 * Records on the ServiceAccount how this run leaves the console (S11), and reports policies bound outside the operator.
 */
export const recordBindings: PerformBindings<"RecordBindings"> = async (
  { bindings, foundForeign },
  { snapshot, done },
  run,
) => {
  const { account } = snapshot;
  if (account === undefined)
    throw new Error("the ServiceAccount that records the bindings does not exist");
  await writeBindings(account, bindings, run, run.signal);
  const { withdrawal } = availabilityOf(snapshot).restriction ?? {};
  if (withdrawal !== undefined && account.status?.bindings?.ungrantedTime === undefined)
    recordEvent(run, account, {
      type: "Warning",
      reason: "GrantRemoved",
      action: "SyncBindings",
      note: `No grant of the connection matches this namespace any more. ${listed(withdrawal.policyIds)} will be unbound at ${toIso8601(withdrawal.until)}, unless a grant matches again.`.slice(
        0,
        1_000,
      ),
    });
  if (foundForeign.length > 0)
    recordEvent(run, account, {
      type: "Normal",
      reason: "ForeignPoliciesFound",
      action: "SyncBindings",
      note: `${listed(foundForeign)} bound outside the operator; kept (foreignPolicies: Keep).`,
    });
  return { snapshot, done: { ...done, recorded: true } };
};

function availabilityOf(snapshot: BindingsSnapshot): UsableAccount {
  if (isUsable(snapshot)) return snapshot.availability;
  throw new Error("only a usable account is recorded");
}

/** Writes `status.bindings` of the ServiceAccount and no other field of its status. */
export async function writeBindings(
  account: ServiceAccount,
  bindings: BindingsStatus,
  run: BindingsRun,
  signal?: AbortSignal,
): Promise<void> {
  const status = { ...account.status, bindings };
  await writeStatus(run, serviceAccountType, account, status, {
    fieldManager: BINDINGS_FIELD_MANAGER,
    foreignFields: Object.keys(account.status ?? {}).filter((field) => field !== "bindings"),
    ...(signal === undefined ? {} : { signal }),
  });
}

/**
 * Writes one object after the other. If a write fails, the progress of the PartialFailure contains the objects written
 * so far. `undefined` from `write` means that the object no longer exists.
 */
async function writeEach(
  uids: readonly string[],
  { snapshot, done }: BindingsProgress,
  signal: AbortSignal,
  write: (object: PolicyBinding) => Promise<PolicyBinding | undefined>,
): Promise<BindingsProgress> {
  const objects = new Map(snapshot.objects);
  const progress = { snapshot: { ...snapshot, objects }, done };
  for (const uid of uids) {
    const object = objects.get(uid);
    if (object === undefined) continue;
    try {
      signal.throwIfAborted();
      const written = await write(object);
      if (written === undefined) objects.delete(uid);
      else objects.set(uid, written);
    } catch (error) {
      throw new PartialFailure(progress, error);
    }
  }
  return progress;
}
