/**
 * Reads and writes of an ApiKey's Secrets. Each write is one call, bound to the version of the Secret that was read.
 */
import { isKubeError } from "../../../kube/errors.ts";
import { keyOf } from "../../../kube/resource.ts";
import { type Secret, secretType } from "../../resource-types.ts";
import { accountKeyOf, type IssueCoordination } from "../attempts.ts";
import { readSecret } from "../read-secret.ts";
import type { ActionOf, ApiKeyProgress, ApiKeySnapshot } from "../rules/snapshot.ts";
import { withDeliveredKey } from "../rules/transitions.ts";
import { secretNameOf } from "../secret/owner.ts";
import { targetPatch } from "../secret/patch.ts";
import { type SecretContents, stagingSecret, targetSecret } from "../secret/render.ts";
import { attemptOf, pairIn, type SecretView, viewSecret } from "../secret/view.ts";
import {
  type ApiKeyPerformed,
  type ApiKeyRun,
  readyAccount,
  remember,
  withDone,
  withEvent,
  withSnapshot,
} from "./run.ts";

export async function readTarget(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { self, spec } = progress.snapshot;
  const target = await readSecret(run, self, spec, "target", run.signal);
  return withSnapshot(progress, { target });
}

/** Writes the only copy of the pair. A shutdown does not abort this write but waits for it. */
export async function stagePair(
  progress: ApiKeyProgress,
  action: ActionOf<"StagePair">,
  run: ApiKeyRun,
  coordination: IssueCoordination,
): Promise<ApiKeyProgress> {
  const { pair, attemptId } = action;
  const { self, spec } = progress.snapshot;
  const wanted = stagingSecret(self, spec, pair, attemptId);
  const written = await run.kube.create(secretType, wanted).catch(async (error: unknown) => {
    // A create whose response was lost has still stored the pair.
    const stored = isKubeError(error, "AlreadyExists")
      ? await run.kube.get(secretType, keyOf(wanted))
      : undefined;
    if (pairIn(viewSecret(stored, self, spec, "staging"))?.keyId !== pair.keyId) throw error;
    return stored;
  });
  const staging = viewSecret(written, self, spec, "staging");
  return noteStaged(withSnapshot(progress, { staging }), action, run, coordination);
}

/** A staged pair is safe: the memory no longer holds it, no recovery is needed, and peers need not wait. */
export function noteStaged(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
  { attempts, heldPairs }: IssueCoordination,
): ApiKeyProgress {
  const { object, self, staging, held } = progress.snapshot;
  const attemptId = attemptOf(staging);
  const pair = pairIn(staging);
  const isHeld = held !== undefined && held.pair.keyId === pair?.keyId;
  if (isHeld) heldPairs.delete(self.uid);
  if (attemptId !== undefined && pair !== undefined)
    attempts.explain(attemptId, accountKeyOf(object), [pair.keyId]);
  const noted = withSnapshot(progress, { held: isHeld ? undefined : held });
  return withDone(remember(noted, { recovery: undefined }, run), { hasNotedStaged: true });
}

/** Writes the new pair to the consumers' Secret. */
export async function switchSecret(
  progress: ApiKeyProgress,
  contents: SecretContents,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  const { self, spec, target } = progress.snapshot;
  const { namespace, name } = self;
  const { keyId, revision } = contents.pair;
  const written = await writeTarget(progress.snapshot, contents, run);
  run.log.info({ namespace, name, keyId, revision }, "wrote key to secret");
  const switched = withSnapshot(progress, { target: viewSecret(written, self, spec, "target") });
  return withDone(switched, { hasAdopted: target.kind === "Foreign" });
}

/** Restores the declared content of the Secret, with the pair it has. */
export async function renderSecret(
  progress: ApiKeyProgress,
  contents: SecretContents,
  run: ApiKeyRun,
): Promise<ApiKeyPerformed> {
  const written = await writeTarget(progress.snapshot, contents, run);
  const { self, spec } = progress.snapshot;
  const restored = withSnapshot(progress, { target: viewSecret(written, self, spec, "target") });
  const note = `Secret ${written.metadata.name} was restored to its declared content.`;
  return withEvent(restored, "SecretUpdated", "Render", note);
}

function writeTarget(
  snapshot: ApiKeySnapshot,
  contents: SecretContents,
  { kube }: ApiKeyRun,
): Promise<Secret> {
  const { self, spec, target } = snapshot;
  const wanted = targetSecret(self, spec, readyAccount(snapshot).values, contents);
  return "secret" in target
    ? kube.mergePatch(secretType, keyOf(wanted), targetPatch(target, wanted, self))
    : kube.create(secretType, wanted);
}

/** Records the delivered key as current in the status, and the key before it as superseded. */
export async function commitKey(
  progress: ApiKeyProgress,
  { pair }: ActionOf<"CommitKey">,
  run: ApiKeyRun,
): Promise<ApiKeyPerformed> {
  const { self, spec, status } = progress.snapshot;
  const isProven = progress.done.verdicts?.get(pair.keyId) === true;
  const delivered = withDeliveredKey(status, pair, isProven, run.clock.now());
  const committed = await run.writeStatus(withSnapshot(progress, { status: delivered }));
  const why = status.current === undefined ? "" : ` (${status.attempt?.reason})`;
  const note = `Issued key ${pair.keyId}${why} into Secret ${secretNameOf(self.name, spec)}.`;
  if (status.current === undefined) return withEvent(committed, "KeyIssued", "Issue", note);
  const before = `Key ${status.current.keyId} stays valid until it is retired or expires.`;
  return withEvent(committed, "KeyRotated", "Rotate", `${note} ${before}`);
}

export async function deleteStaging(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  await deleteOwn(progress.snapshot.staging, run);
  return withSnapshot(progress, { staging: { kind: "Absent" } });
}

export async function deleteTarget(
  progress: ApiKeyProgress,
  _: object,
  run: ApiKeyRun,
): Promise<ApiKeyProgress> {
  await deleteOwn(progress.snapshot.target, run);
  return withSnapshot(progress, { target: { kind: "Absent" } });
}

async function deleteOwn(view: SecretView, { kube }: ApiKeyRun): Promise<void> {
  if (view.kind !== "Ours") return;
  const { uid, resourceVersion, secret } = view;
  await kube.delete(secretType, keyOf(secret), { uid, resourceVersion });
}
