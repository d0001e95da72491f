/**
 * Reads and writes of an ApiKey's Secrets. Each write is one call, bound to the version of the Secret that was read.
 */
import { annotations } from "../../../api/meta.ts";
import { isKubeError, isRefusedWrite } from "../../../kube/errors.ts";
import { keyOf } from "../../../kube/resource.ts";
import type { Answered } from "../../../reconciler/effects.ts";
import { deletesSecret, writesSecret } from "../../../reconciler/plan/lines.ts";
import type { EventOf } from "../../../reconciler/rules/report.ts";
import { type Secret, secretType } from "../../../resources/resource-types.ts";
import type { IssueCoordination } from "../coordination.ts";
import { readSecret } from "../read-secret.ts";
import { describeFormer, stateOfFormer } from "../rules/former-key.ts";
import { describeNotKept, SECRET_NOT_KEPT } from "../rules/not-kept.ts";
import { contentId } from "../rules/rendering.ts";
import type {
  ApiKeyKind,
  ApiKeyReading,
  ApiKeyRun,
  ApiKeySnapshot,
  HeldPair,
  NotKept,
} from "../rules/snapshot.ts";
import { withDeliveredKey } from "../rules/transitions.ts";
import { isAccepted } from "../rules/verification.ts";
import { describe, differences } from "../secret/differences.ts";
import { type SecretRole, secretNameOf } from "../secret/owner.ts";
import { type IssuedPair, isSamePair, pairHash } from "../secret/pair.ts";
import { targetPatch } from "../secret/patch.ts";
import { pendingSecret, type SecretContents, targetSecret } from "../secret/render.ts";
import { pairIn, type SecretView, viewSecret } from "../secret/view.ts";
import { about, accountOfPair, concluding, keyEffect, remembering, writeStatus } from "./define.ts";

const readsTarget = {
  kind: "ReadTarget",
  read: async (_: void, snapshot: ApiKeySnapshot, run: ApiKeyReading) => {
    const { self, spec, status } = snapshot;
    const { keyId } = status.current ?? {};
    const target = await readSecret(run, self, spec, "target", run.signal, keyId);
    return { answer: { ...snapshot, target } };
  },
};

export const readTarget = keyEffect<void>(readsTarget);

/** Reads the pair in use for a check, which a suspension does not stop. */
export const readPairToCheck = keyEffect<void>({ ...readsTarget, whileSuspended: true });

/** Writes the only copy of the pair. Neither a suspension nor a shutdown stops this write. */
export function stagePair(coordination: IssueCoordination) {
  return keyEffect<HeldPair>({
    kind: "StagePair",
    whileSuspended: true,
    call: async ({ pair, attemptId }, snapshot, { kube }) => {
      const { self, spec } = snapshot;
      const wanted = pendingSecret(self, spec, pair, attemptId);
      const written = await kube.create(secretType, wanted).catch(async (error: unknown) => {
        // A create whose response was lost has still stored the pair.
        const stored = isKubeError(error, "AlreadyExists")
          ? await kube.get(secretType, keyOf(wanted))
          : undefined;
        if (!isSamePair(pairIn(viewSecret(stored, self, spec, "pending")), pair)) throw error;
        return stored;
      });
      const staged = withPending(snapshot, written);
      noteStagedPair(staged, coordination);
      return withStagedPair(staged);
    },
    planned: ({ pair, attemptId }, snapshot) => {
      const wanted = pendingSecret(snapshot.self, snapshot.spec, pair, attemptId);
      return { ...withStagedPair(withPending(snapshot, wanted)), line: writesSecret(wanted) };
    },
  });
}

function withPending(snapshot: ApiKeySnapshot, written: Secret | undefined): ApiKeySnapshot {
  const { self, spec } = snapshot;
  return { ...snapshot, pending: viewSecret(written, self, spec, "pending") };
}

/** For a pair that an earlier call has staged. */
export function noteStaged(coordination: IssueCoordination) {
  return concluding({
    kind: "NoteStaged",
    whileSuspended: true,
    note: (_, snapshot) => noteStagedPair(snapshot, coordination),
    after: (_, snapshot) => withStagedPair(snapshot),
  });
}

/** A staged pair is safe: the memory no longer holds it, and no recovery is needed. */
function noteStagedPair(snapshot: ApiKeySnapshot, { heldPairs }: IssueCoordination): void {
  if (isHeldToo(snapshot)) heldPairs.delete(snapshot.self.uid);
}

function withStagedPair(snapshot: ApiKeySnapshot): Answered<ApiKeyKind, ApiKeySnapshot> {
  const held = isHeldToo(snapshot) ? undefined : snapshot.held;
  const known = { recovery: undefined };
  return { answer: { ...snapshot, held, ...known }, remember: remembering(known) };
}

function isHeldToo({ held, pending }: ApiKeySnapshot): boolean {
  return isSamePair(held?.pair, pairIn(pending));
}

/** Writes the new pair to the consumers' Secret. */
export const switchSecret = keyEffect<SecretContents>({
  kind: "SwitchSecret",
  needsFinalizer: true,
  call: async (contents, snapshot, run) => {
    const { namespace, name } = snapshot.self;
    const { keyId, revision } = contents.pair;
    const written = await writeTarget(snapshot, contents, run);
    run.log.info({ namespace, name, keyId, revision }, "wrote key to secret");
    return withNewTarget(snapshot, contents, written);
  },
  planned: (contents, snapshot) => {
    const wanted = wantedTarget(snapshot, contents);
    return { ...withNewTarget(snapshot, contents, wanted), line: writesSecret(wanted) };
  },
});

function withNewTarget(
  snapshot: ApiKeySnapshot,
  contents: SecretContents,
  written: Secret,
): Answered<ApiKeyKind, ApiKeySnapshot> {
  const { answer, remember } = withTarget(snapshot, contents, written);
  const isAdopted = snapshot.target.kind === "Foreign";
  return { answer: { ...answer, hasAdopted: isAdopted }, remember };
}

/** Restores the declared content of the Secret, with the pair it has. */
export const renderSecret = keyEffect<SecretContents>({
  kind: "RenderSecret",
  call: async (contents, snapshot, run) => {
    const written = await writeTarget(snapshot, contents, run).catch((error: unknown) => {
      if (isRefusedWrite(error)) return error;
      throw error;
    });
    if (isKubeError(written)) return { answer: { ...snapshot, refusedContent: written } };
    const after = withTarget(snapshot, contents, written);
    const { notKept } = after.answer;
    const { name } = written.metadata;
    const done = `Secret ${name} was written as spec.secret declares it, with the same key${hasTornPrevious(snapshot) ? ", without the pair of the superseded key: an edit has broken it, and no other copy exists" : ""}.`;
    const event =
      notKept === undefined
        ? about(snapshot, "SecretUpdated", "Render", done)
        : about(snapshot, SECRET_NOT_KEPT, "Render", describeNotKept(name, notKept.what));
    return { ...after, events: [event] };
  },
  planned: (contents, snapshot) => {
    const wanted = wantedTarget(snapshot, contents);
    return { ...withTarget(snapshot, contents, wanted), line: writesSecret(wanted) };
  },
});

/** Whether the Secret is noted to hold the pair of the superseded key, and does not. */
function hasTornPrevious({ target }: ApiKeySnapshot): boolean {
  if (target.kind !== "Ours" || target.previous !== undefined) return false;
  return target.secret.metadata.annotations?.[annotations.previousKeyId] !== undefined;
}

/** Remembers what the API server has stored otherwise, so that it is not written again and again. */
function withTarget(
  snapshot: ApiKeySnapshot,
  contents: SecretContents,
  written: Secret,
): Answered<ApiKeyKind, ApiKeySnapshot> {
  const { self, spec } = snapshot;
  const wanted = wantedTarget(snapshot, contents);
  const found = differences(written, wanted, self);
  const { resourceVersion = "" } = written.metadata;
  const notKept: NotKept | undefined =
    found.length === 0
      ? undefined
      : { resourceVersion, sent: contentId(wanted), what: describe(found) };
  const target = viewSecret(written, self, spec, "target");
  return {
    answer: { ...snapshot, target, notKept, hasWritten: true },
    remember: remembering({ notKept }),
  };
}

function writeTarget(
  snapshot: ApiKeySnapshot,
  contents: SecretContents,
  { kube }: ApiKeyRun,
): Promise<Secret> {
  const { self, target } = snapshot;
  const wanted = wantedTarget(snapshot, contents);
  return "secret" in target
    ? kube.mergePatch(secretType, keyOf(wanted), targetPatch(target, wanted, self))
    : kube.create(secretType, wanted);
}

function wantedTarget(snapshot: ApiKeySnapshot, contents: SecretContents): Secret {
  const { self, spec } = snapshot;
  return targetSecret(self, spec, accountOfPair(snapshot, contents.pair).values, contents);
}

/** Records the delivered key as current in the status, and the key before it as superseded; also while suspended. */
export const commitKey = keyEffect<{ readonly pair: IssuedPair }>({
  kind: "CommitKey",
  whileSuspended: true,
  needsFinalizer: true,
  call: async ({ pair }, snapshot, run) => {
    const committed = await writeStatus(withDelivery(snapshot, pair, run), run);
    return { ...afterCommit(committed), events: [deliveryOf(pair, snapshot, committed)] };
  },
  planned: ({ pair }, snapshot, run) => afterCommit(withDelivery(snapshot, pair, run)),
});

/** An earlier rejection of a key with the same ID is not about this pair. */
function afterCommit(committed: ApiKeySnapshot): Answered<ApiKeyKind, ApiKeySnapshot> {
  if (committed.status.current?.verificationTime === undefined) return { answer: committed };
  const known = { rejection: undefined };
  return { answer: { ...committed, ...known }, remember: remembering(known) };
}

function deliveryOf(pair: IssuedPair, before: ApiKeySnapshot, committed: ApiKeySnapshot): EventOf {
  const { self, spec, status } = before;
  const why = status.current === undefined ? "" : ` (${status.attempt?.reason})`;
  const note = `Issued key ${pair.keyId}${why} into Secret ${secretNameOf(self.name, spec)}.`;
  if (status.current === undefined) return about(committed, "KeyIssued", "Issue", note);
  const isReissue = status.current.keyId === pair.keyId;
  const former = isReissue ? "" : ` ${describeFormer(status.current, before)}`;
  return about(committed, "KeyRotated", "Rotate", `${note}${former}`);
}

function withDelivery(
  snapshot: ApiKeySnapshot,
  pair: IssuedPair,
  { clock }: Pick<ApiKeyRun, "clock">,
): ApiKeySnapshot {
  const { verdicts, status } = snapshot;
  const isProven = [pair.keyId, pairHash(pair)].some((key) => isAccepted(verdicts?.get(key)));
  const former = stateOfFormer(snapshot);
  return { ...snapshot, status: withDeliveredKey(status, pair, isProven, clock.now(), former) };
}

export const deletePending = keyEffect<void>(deletionOf("pending", "DeletePending"));
export const deleteTarget = keyEffect<void>(deletionOf("target", "DeleteTarget"));

function deletionOf(role: SecretRole, kind: string): Parameters<typeof keyEffect<void>>[0] {
  const after = (snapshot: ApiKeySnapshot): ApiKeySnapshot => ({
    ...snapshot,
    [role]: { kind: "Absent" },
  });
  return {
    kind,
    call: async (_, snapshot, run) => {
      await deleteOwn(snapshot[role], run);
      return { answer: after(snapshot) };
    },
    planned: (_, snapshot) => {
      const view = snapshot[role];
      const line = view.kind === "Ours" ? deletesSecret(view.secret) : undefined;
      return { answer: after(snapshot), line };
    },
  };
}

async function deleteOwn(view: SecretView, { kube }: ApiKeyRun): Promise<void> {
  if (view.kind !== "Ours") return;
  const { uid, resourceVersion, secret } = view;
  await kube.delete(secretType, keyOf(secret), { uid, resourceVersion });
}
