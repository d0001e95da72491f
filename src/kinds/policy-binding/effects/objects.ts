/** Writes to the PolicyBindings of an account, and to the ServiceAccount itself. */
import { type EventReason, toEvent } from "../../../api/events.ts";
import { BINDINGS_FIELD_MANAGER } from "../../../api/meta.ts";
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import { type Answered, defineEffect } from "../../../reconciler/effects.ts";
import {
  addFinalizer as holdObject,
  removeFinalizer as releaseObject,
  withFinalizer,
} from "../../../reconciler/finalizers.ts";
import { writeStatus } from "../../../reconciler/publish.ts";
import type { EventOf } from "../../../reconciler/rules/report.ts";
import { policyBindingType, serviceAccountType } from "../../../resources/resource-types.ts";
import { readLive } from "../observe.ts";
import type { Intent } from "../rules/changes.ts";
import { listed } from "../rules/policy-set.ts";
import type { NewRecord } from "../rules/record.ts";
import type {
  AccountBindingsKind,
  BindingsEffects,
  BindingsRun,
  BindingsSnapshot,
  BindingsStatus,
  ReleaseCause,
} from "../rules/snapshot.ts";
import type { BindingView } from "../rules/views.ts";

/** Reads the account and all its PolicyBindings from the API server. */
export const readObjects = defineEffect<
  AccountBindingsKind,
  BindingsSnapshot,
  void,
  BindingsSnapshot
>({
  kind: "ReadObjects",
  read: async (_, snapshot, run) => ({ answer: await readLive(snapshot, run) }),
});

export const addFinalizer = defineWrite<{ readonly uid: string }>(
  "AddFinalizer",
  async (object, _, run) => ({ answer: await holdObject(run, policyBindingType, object) }),
  withFinalizer,
);

/** Writes `status.appliedPolicyIds` and keeps the other fields of the status. */
export const writeIntent = defineWrite<Intent>(
  "WriteIntent",
  async (object, intent, run) => {
    const { signal } = run;
    const { status } = withIntent(object, intent);
    return { answer: await writeStatus(run, policyBindingType, object, status, { signal }) };
  },
  withIntent,
);

function withIntent(object: PolicyBinding, { policyIds }: Intent) {
  return { ...object, status: { ...object.status, appliedPolicyIds: [...policyIds] } };
}

interface Release {
  readonly uid: string;
  readonly because: ReleaseCause;
}

/** Removes the finalizer, with an event about policies that stay bound. */
export const removeFinalizer = defineWrite<Release>(
  "RemoveFinalizer",
  async (object, { uid, because }, run, { bindings }) => {
    await releaseObject(run, policyBindingType, object);
    const released = bindings.filter((each) => each.uid === uid);
    const events = released.flatMap((view) => releaseEvents(object, view, because));
    return { answer: undefined, events };
  },
  () => undefined,
);

/** A write of one PolicyBinding. Its answer is the written object, `undefined` if there is none any more. */
function defineWrite<Input extends { readonly uid: string }>(
  kind: string,
  call: (
    object: PolicyBinding,
    input: Input,
    run: BindingsRun,
    snapshot: BindingsSnapshot,
  ) => Promise<Answered<AccountBindingsKind, PolicyBinding | undefined>>,
  assumed: (object: PolicyBinding, input: Input) => PolicyBinding | undefined,
) {
  const write = defineEffect<
    AccountBindingsKind,
    BindingsSnapshot,
    Input,
    PolicyBinding | undefined
  >({
    kind,
    call: (input, snapshot, run) => call(objectOf(snapshot, input), input, run, snapshot),
    planned: (input, snapshot) => ({ answer: assumed(objectOf(snapshot, input), input) }),
  });
  return function* <Snapshot extends BindingsSnapshot>(
    snapshot: Snapshot,
    input: Input,
  ): BindingsEffects<Snapshot> {
    const written = yield* write(snapshot, input);
    const objects = new Map(snapshot.objects);
    if (written === undefined) objects.delete(input.uid);
    else objects.set(input.uid, written);
    return { ...snapshot, objects };
  };
}

function objectOf({ objects }: BindingsSnapshot, { uid }: { readonly uid: string }): PolicyBinding {
  const object = objects.get(uid);
  if (object === undefined) throw new Error("the PolicyBinding is not one of the account");
  return object;
}

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
  GaveUp:
    "The console did not accept the change in time; the ServiceAccount records what the operator unbinds later.",
};

/** Records on the ServiceAccount how this run leaves the console (S11). */
export const recordBindings = defineEffect<AccountBindingsKind, BindingsSnapshot, NewRecord, void>({
  kind: "RecordBindings",
  call: async ({ account, bindings, events }, _, run) => ({
    answer: await writeBindings(account, bindings, run, run.signal),
    events,
  }),
  planned: ({ account, bindings }) => ({
    answer: undefined,
    written: {
      type: serviceAccountType,
      object: { ...account, status: { ...account.status, bindings } },
    },
  }),
});

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
