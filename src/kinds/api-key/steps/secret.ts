/**
 * Reads and writes of an ApiKey's Secrets. Each write is one call, bound to the version of the Secret that was read.
 */
import { isKubeError } from "../../../kube/errors.ts";
import { keyOf } from "../../../kube/resource.ts";
import { deletesSecret, writesSecret } from "../../../reconciler/plan/lines.ts";
import type { Planned } from "../../../reconciler/steps.ts";
import { type Secret, secretType } from "../../../resources/resource-types.ts";
import { accountKeyOf, type IssueCoordination } from "../attempts.ts";
import { readSecret } from "../read-secret.ts";
import { describeFormer, stateOfFormer } from "../rules/former-key.ts";
import { describeNotKept, SECRET_NOT_KEPT } from "../rules/not-kept.ts";
import { contentId } from "../rules/rendering.ts";
import type {
  ApiKeyPerformed,
  ApiKeyProgress,
  ApiKeyRun,
  ApiKeySnapshot,
  NotKept,
} from "../rules/snapshot.ts";
import { withDeliveredKey } from "../rules/transitions.ts";
import { describe, differences } from "../secret/differences.ts";
import { secretNameOf } from "../secret/owner.ts";
import { type IssuedPair, isSamePair, pairHash } from "../secret/pair.ts";
import { targetPatch } from "../secret/patch.ts";
import { type SecretContents, stagingSecret, targetSecret } from "../secret/render.ts";
import { attemptOf, pairIn, type SecretView, viewSecret } from "../secret/view.ts";
import { accountOfPair, remembering, withDone, withEvent, withSnapshot } from "./progress.ts";
import type { ApiKeyEffect, ApiKeyRead, ApiKeyTransition } from "./step-types.ts";

export const readTarget: ApiKeyRead<"ReadTarget"> = {
  read: async (_, progress, run) => {
    const { self, spec } = progress.snapshot;
    const target = await readSecret(run, self, spec, "target", run.signal);
    return withSnapshot(progress, { target });
  },
};

/** Writes the only copy of the pair. Neither a suspension nor a shutdown stops this write. */
export function stagePair(
  coordination: IssueCoordination,
): ApiKeyEffect<"StagePair", Secret | undefined> {
  return {
    whileSuspended: true,
    call: async ({ pair, attemptId }, progress, { kube }) => {
      const { self, spec } = progress.snapshot;
      const wanted = stagingSecret(self, spec, pair, attemptId);
      const written = await kube.create(secretType, wanted).catch(async (error: unknown) => {
        // A create whose response was lost has still stored the pair.
        const stored = isKubeError(error, "AlreadyExists")
          ? await kube.get(secretType, keyOf(wanted))
          : undefined;
        if (!isSamePair(pairIn(viewSecret(stored, self, spec, "staging")), pair)) throw error;
        return stored;
      });
      noteStagedPair(withStaging(progress, written).snapshot, coordination);
      return written;
    },
    planned: ({ pair, attemptId }, { snapshot: { self, spec } }) =>
      plannedWrite(stagingSecret(self, spec, pair, attemptId)),
    after: (_, progress, written) => withStagedPair(withStaging(progress, written)),
  };
}

function withStaging(progress: ApiKeyProgress, written: Secret | undefined): ApiKeyProgress {
  const { self, spec } = progress.snapshot;
  return withSnapshot(progress, { staging: viewSecret(written, self, spec, "staging") });
}

/** For a pair that an earlier call has staged. */
export function noteStaged(coordination: IssueCoordination): ApiKeyTransition<"NoteStaged"> {
  return {
    whileSuspended: true,
    note: (_, { snapshot }) => noteStagedPair(snapshot, coordination),
    after: (_, progress) => withStagedPair(progress),
  };
}

/** A staged pair is safe: the memory no longer holds it, no recovery is needed, and peers need not wait. */
function noteStagedPair(
  snapshot: ApiKeySnapshot,
  { attempts, heldPairs }: IssueCoordination,
): void {
  const { object, self, staging } = snapshot;
  const attemptId = attemptOf(staging);
  const pair = pairIn(staging);
  if (isHeldToo(snapshot)) heldPairs.delete(self.uid);
  if (attemptId !== undefined && pair !== undefined)
    attempts.explain(attemptId, accountKeyOf(object, pair), [pair.keyId]);
}

function withStagedPair(progress: ApiKeyProgress): ApiKeyPerformed {
  const { snapshot } = progress;
  const held = isHeldToo(snapshot) ? undefined : snapshot.held;
  const noted = withDone(withSnapshot(progress, { held }), { hasNotedStaged: true });
  return remembering(noted, { recovery: undefined });
}

function isHeldToo({ held, staging }: ApiKeySnapshot): boolean {
  return isSamePair(held?.pair, pairIn(staging));
}

/** Writes the new pair to the consumers' Secret. */
export const switchSecret: ApiKeyEffect<"SwitchSecret", Secret> = {
  needsFinalizer: true,
  call: async (contents, { snapshot }, run) => {
    const { namespace, name } = snapshot.self;
    const { keyId, revision } = contents.pair;
    const written = await writeTarget(snapshot, contents, run);
    run.log.info({ namespace, name, keyId, revision }, "wrote key to secret");
    return written;
  },
  planned: (contents, { snapshot }) => plannedWrite(wantedTarget(snapshot, contents)),
  after: (contents, progress, written) => {
    const isAdopted = progress.snapshot.target.kind === "Foreign";
    const { remember, ...after } = withTarget(progress, contents, written);
    return { ...withDone(after, { hasAdopted: isAdopted }), ...(remember && { remember }) };
  },
};

/** Restores the declared content of the Secret, with the pair it has. */
export const renderSecret: ApiKeyEffect<"RenderSecret", Secret> = {
  call: (contents, { snapshot }, run) => writeTarget(snapshot, contents, run),
  planned: (contents, { snapshot }) => plannedWrite(wantedTarget(snapshot, contents)),
  after: (contents, progress, written) => {
    const after = withTarget(progress, contents, written);
    const { notKept } = after.snapshot;
    const { name } = written.metadata;
    const done = `Secret ${name} was restored to its declared content.`;
    return notKept === undefined
      ? withEvent(after, "SecretUpdated", "Render", done)
      : withEvent(after, SECRET_NOT_KEPT, "Render", describeNotKept(name, notKept.what));
  },
};

/** Remembers what the API server has stored otherwise, so that it is not written again and again. */
function withTarget(
  progress: ApiKeyProgress,
  contents: SecretContents,
  written: Secret,
): ApiKeyPerformed {
  const { self, spec } = progress.snapshot;
  const wanted = wantedTarget(progress.snapshot, contents);
  const found = differences(written, wanted, self);
  const { resourceVersion = "" } = written.metadata;
  const notKept: NotKept | undefined =
    found.length === 0
      ? undefined
      : { resourceVersion, sent: contentId(wanted), what: describe(found) };
  const target = viewSecret(written, self, spec, "target");
  const after = withDone(withSnapshot(progress, { target }), { hasWritten: true });
  return remembering(after, { notKept });
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

function plannedWrite(wanted: Secret): Planned<Secret> {
  return { answer: wanted, line: writesSecret(wanted) };
}

/** Records the delivered key as current in the status, and the key before it as superseded. */
export const commitKey: ApiKeyEffect<"CommitKey", ApiKeyProgress> = {
  needsFinalizer: true,
  call: ({ pair }, progress, run) => run.writeStatus(withDelivery(progress, pair, run)),
  planned: ({ pair }, progress, run) => ({ answer: withDelivery(progress, pair, run) }),
  after: ({ pair }, { snapshot }, committed): ApiKeyPerformed => {
    const { self, spec, status } = snapshot;
    const why = status.current === undefined ? "" : ` (${status.attempt?.reason})`;
    const note = `Issued key ${pair.keyId}${why} into Secret ${secretNameOf(self.name, spec)}.`;
    // An earlier rejection of a key with the same ID is not about this pair.
    const isProven = committed.snapshot.status.current?.verificationTime !== undefined;
    const after = isProven ? remembering(committed, { rejection: undefined }) : committed;
    if (status.current === undefined) return withEvent(after, "KeyIssued", "Issue", note);
    const isReissue = status.current.keyId === pair.keyId;
    const before = isReissue ? "" : ` ${describeFormer(status.current, snapshot)}`;
    return withEvent(after, "KeyRotated", "Rotate", `${note}${before}`);
  },
};

function withDelivery(
  progress: ApiKeyProgress,
  pair: IssuedPair,
  { clock }: Pick<ApiKeyRun, "clock">,
): ApiKeyProgress {
  const { verdicts = new Map<string, boolean>() } = progress.done;
  const isProven = [pair.keyId, pairHash(pair)].some((key) => verdicts.get(key));
  const { snapshot } = progress;
  const former = stateOfFormer(snapshot);
  const status = withDeliveredKey(snapshot.status, pair, isProven, clock.now(), former);
  return withSnapshot(progress, { status });
}

export const deleteStaging: ApiKeyEffect<"DeleteStaging", void> = {
  call: (_, { snapshot }, run) => deleteOwn(snapshot.staging, run),
  planned: (_, { snapshot }) => plannedDeletion(snapshot.staging),
  after: (_, progress) => withSnapshot(progress, { staging: { kind: "Absent" } }),
};

export const deleteTarget: ApiKeyEffect<"DeleteTarget", void> = {
  call: (_, { snapshot }, run) => deleteOwn(snapshot.target, run),
  planned: (_, { snapshot }) => plannedDeletion(snapshot.target),
  after: (_, progress) => withSnapshot(progress, { target: { kind: "Absent" } }),
};

async function deleteOwn(view: SecretView, { kube }: ApiKeyRun): Promise<void> {
  if (view.kind !== "Ours") return;
  const { uid, resourceVersion, secret } = view;
  await kube.delete(secretType, keyOf(secret), { uid, resourceVersion });
}

function plannedDeletion(view: SecretView): Planned<void> {
  return view.kind === "Ours"
    ? { answer: undefined, line: deletesSecret(view.secret) }
    : { answer: undefined };
}
