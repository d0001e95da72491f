/** Writes to the PolicyBindings of an account, and to the ServiceAccount itself. */
import { type EventReason, toEvent } from "../../../api/events.ts";
import { BINDINGS_FIELD_MANAGER } from "../../../api/meta.ts";
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import { addFinalizer, removeFinalizer, withFinalizer } from "../../../reconciler/finalizers.ts";
import { writeStatus } from "../../../reconciler/publish.ts";
import { PartialFailure } from "../../../reconciler/rules/outcome.ts";
import type { EventOf } from "../../../reconciler/rules/report.ts";
import type { Planned } from "../../../reconciler/steps.ts";
import { policyBindingType, serviceAccountType } from "../../../resources/resource-types.ts";
import { toIso8601 } from "../../../util/time.ts";
import { isUsable } from "../rules/choose.ts";
import { MAX_POLICIES } from "../rules/decide.ts";
import { listed, type PolicySet, union } from "../rules/policy-set.ts";
import type {
  BindingsActionOf,
  BindingsPerformed,
  BindingsProgress,
  BindingsRun,
  BindingsSnapshot,
  BindingsStatus,
  ReleaseCause,
} from "../rules/snapshot.ts";
import type { BindingView, UsableAccount } from "../rules/views.ts";
import type { BindingsEffect } from "./step-types.ts";

export const addFinalizers: BindingsEffect<"AddFinalizers", BindingsPerformed> = {
  call: ({ uids }, progress, run) =>
    writeEach(uids, progress, run.signal, (object) => addFinalizer(run, policyBindingType, object)),
  planned: ({ uids }, progress) => assumeEach(uids, progress, withFinalizer),
  after: (_, __, written) => written,
};

/** Writes `status.appliedPolicyIds` of each object and keeps the other fields of the status. */
export const writeIntents: BindingsEffect<"WriteIntents", BindingsPerformed> = {
  call: (action, progress, run) => {
    const { signal } = run;
    return writeEach(uidsOf(action), progress, signal, (object) => {
      const { status } = withIntent(action, object);
      return writeStatus(run, policyBindingType, object, status, { signal });
    });
  },
  planned: (action, progress) =>
    assumeEach(uidsOf(action), progress, (object) => withIntent(action, object)),
  after: (_, __, written) => written,
};

function uidsOf({ intents }: BindingsActionOf<"WriteIntents">): readonly string[] {
  return intents.map(({ uid }) => uid);
}

function withIntent({ intents }: BindingsActionOf<"WriteIntents">, object: PolicyBinding) {
  const intent = intents.find(({ uid }) => uid === object.metadata.uid);
  const appliedPolicyIds = [...(intent?.policyIds ?? [])];
  return { ...object, status: { ...object.status, appliedPolicyIds } };
}

/** Removes finalizers, with events about policies that stay bound. */
export const removeFinalizers: BindingsEffect<"RemoveFinalizers", BindingsPerformed> = {
  call: ({ uids, because }, progress, run) => {
    const views = new Map(progress.snapshot.bindings.map((each) => [each.uid, each]));
    const remove = async (object: PolicyBinding) => {
      await removeFinalizer(run, policyBindingType, object);
      return undefined;
    };
    const eventsOf = (object: PolicyBinding) => {
      const view = views.get(object.metadata.uid);
      return view === undefined ? [] : releaseEvents(object, view, because);
    };
    return writeEach(uids, progress, run.signal, remove, eventsOf);
  },
  planned: ({ uids }, progress) => assumeEach(uids, progress, () => undefined),
  after: (_, __, written) => written,
};

function releaseEvents(
  object: PolicyBinding,
  { applied, retainRefused }: BindingView,
  because: ReleaseCause,
): readonly EventOf[] {
  if (applied.length === 0) return [];
  const warning = (reason: EventReason, note: string) => [
    { object, event: toEvent(reason, "RemoveFinalizer", note) },
  ];
  if (because === "Unconfirmed")
    return warning(
      "OutcomeUnconfirmed",
      `The console accepted to unbind ${listed(applied)}, but its answer about the bound policies cannot be read: whether they are unbound is unknown.`,
    );
  if (because === "Revoked" && retainRefused)
    return warning(
      "RetainNotGranted",
      `The grant of the connection does not allow to retain policies: ${listed(applied)} were unbound.`,
    );
  const why = LEFT_BOUND[because];
  if (why === undefined) return [];
  return warning(
    "PoliciesNotRevoked",
    `${why} These policies are still bound: ${listed(applied)}.`,
  );
}

/** Why policies stay bound. No entry if they are unbound or will be unbound. */
const LEFT_BOUND: Partial<Readonly<Record<ReleaseCause, string>>> = {
  Retained: "The PolicyBinding is gone without revoking.",
  AccountMissing: "The ServiceAccount does not exist.",
  AccountGone: "The account does not exist in the console.",
  GaveUp:
    "The console did not accept the change in time; the ServiceAccount records what the operator unbinds later.",
};

/**
 * Records on the ServiceAccount how this run leaves the console (S11), and reports policies bound outside the operator.
 */
export const recordBindings: BindingsEffect<"RecordBindings", void> = {
  call: ({ bindings }, { snapshot }, run) =>
    writeBindings(accountOf(snapshot), bindings, run, run.signal),
  planned: () => ({ answer: undefined }),
  after: ({ foundForeign }, { snapshot, done }) => {
    const account = accountOf(snapshot);
    const events = [
      ...withdrawalEvents(account, availabilityOf(snapshot)),
      ...foreignEvents(account, foundForeign),
    ];
    return { snapshot, done: { ...done, recorded: true }, events };
  },
};

/** Adds to the record the policies of the PolicyBindings that are released next without a revocation. */
export const recordUnrevoked: BindingsEffect<"RecordUnrevoked", void> = {
  call: ({ policyIds }, { snapshot }, run) => {
    const account = accountOf(snapshot);
    const stored = account.status?.bindings ?? {};
    const unrevoked = union(stored.unrevokedPolicyIds ?? [], policyIds).slice(0, MAX_POLICIES);
    return writeBindings(account, { ...stored, unrevokedPolicyIds: unrevoked }, run, run.signal);
  },
  planned: () => ({ answer: undefined }),
  after: ({ policyIds }, { snapshot, done }) => ({
    snapshot,
    done: { ...done, unrevoked: policyIds },
  }),
};

function accountOf({ account }: BindingsSnapshot): ServiceAccount {
  if (account !== undefined) return account;
  throw new Error("the ServiceAccount that records the bindings does not exist");
}

/** One event when the policies of a namespace without a grant get a time at which they are unbound. */
function withdrawalEvents(
  account: ServiceAccount,
  { restriction }: UsableAccount,
): readonly EventOf[] {
  const withdrawal = restriction?.withdrawal;
  if (withdrawal === undefined || account.status?.bindings?.ungrantedTime !== undefined) return [];
  const { policyIds, until } = withdrawal;
  const note = `No grant of the connection matches this namespace any more. ${listed(policyIds)} will be unbound at ${toIso8601(until)}, unless a grant matches again.`;
  return [{ object: account, event: toEvent("GrantRemoved", "SyncBindings", note) }];
}

function foreignEvents(account: ServiceAccount, policyIds: PolicySet): readonly EventOf[] {
  if (policyIds.length === 0) return [];
  const note = `${listed(policyIds)} bound outside the operator; kept (foreignPolicies: Keep).`;
  return [{ object: account, event: toEvent("ForeignPoliciesFound", "SyncBindings", note) }];
}

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
    signal,
  });
}

/**
 * Writes one object after the other. If a write fails, the progress of the PartialFailure contains the objects written
 * so far, with their events. `undefined` from `write` means that the object no longer exists.
 */
async function writeEach(
  uids: readonly string[],
  { snapshot, done }: BindingsProgress,
  signal: AbortSignal,
  write: (object: PolicyBinding) => Promise<PolicyBinding | undefined>,
  eventsOf: (object: PolicyBinding) => readonly EventOf[] = () => [],
): Promise<BindingsPerformed> {
  const objects = new Map(snapshot.objects);
  const events: EventOf[] = [];
  const progress = { snapshot: { ...snapshot, objects }, done, events };
  for (const uid of uids) {
    const object = objects.get(uid);
    if (object === undefined) continue;
    try {
      signal.throwIfAborted();
      const written = await write(object);
      if (written === undefined) objects.delete(uid);
      else objects.set(uid, written);
      events.push(...eventsOf(object));
    } catch (error) {
      throw new PartialFailure(progress, error);
    }
  }
  return progress;
}

/** The answer that a plan assumes for {@link writeEach}. */
function assumeEach(
  uids: readonly string[],
  { snapshot, done }: BindingsProgress,
  change: (object: PolicyBinding) => PolicyBinding | undefined,
): Planned<BindingsPerformed> {
  const objects = [...snapshot.objects].flatMap(([uid, object]) => {
    const changed = uids.includes(uid) ? change(object) : object;
    return changed === undefined ? [] : [[uid, changed] as const];
  });
  return { answer: { snapshot: { ...snapshot, objects: new Map(objects) }, done } };
}
