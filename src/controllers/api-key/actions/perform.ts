import type { IssueCoordination } from "../attempts.ts";
import type { ActionOf, ApiKeyAction, ApiKeyProgress } from "../rules/snapshot.ts";
import { issueKey, precheck, queueForAccount, recordIntent } from "./issue.ts";
import {
  closeAttempt,
  listKeysBeforeRestore,
  listLateKeys,
  listUnlistedKey,
  readUnexplainedKeys,
  rebuildStatus,
  startRecovery,
} from "./recover.ts";
import { endKey, failRun } from "./retire.ts";
import type { ApiKeyPerformed, ApiKeyRun } from "./run.ts";
import {
  commitKey,
  deleteStaging,
  deleteTarget,
  noteStaged,
  readTarget,
  renderSecret,
  stagePair,
  switchSecret,
} from "./secret.ts";
import { verifyPair } from "./verify.ts";

type Perform<Action> = (
  progress: ApiKeyProgress,
  action: Action,
  run: ApiKeyRun,
  coordination: IssueCoordination,
) => ApiKeyPerformed | Promise<ApiKeyPerformed>;

const performers: { readonly [Kind in ApiKeyAction["kind"]]: Perform<ActionOf<Kind>> } = {
  ReadTarget: readTarget,
  StagePair: stagePair,
  NoteStaged: noteStaged,
  StartRecovery: startRecovery,
  ReadUnexplainedKeys: readUnexplainedKeys,
  CloseAttempt: closeAttempt,
  VerifyPair: verifyPair,
  SwitchSecret: switchSecret,
  CommitKey: commitKey,
  DeleteStaging: deleteStaging,
  DeleteTarget: deleteTarget,
  ListUnlistedKey: listUnlistedKey,
  RebuildStatus: rebuildStatus,
  ListKeysBeforeRestore: listKeysBeforeRestore,
  ListLateKeys: listLateKeys,
  QueueForAccount: queueForAccount,
  Precheck: precheck,
  RecordIntent: recordIntent,
  IssueKey: issueKey,
  RenderSecret: renderSecret,
  DisableKey: endKey,
  DeleteKey: endKey,
  FailRun: failRun,
};

/**
 * Carries out one action: at most one effect, and what it proves. Returns the state of the run after the action, and
 * its events.
 * Rejects at the first failure, with a PartialFailure if something has changed anyway.
 */
export async function perform(
  progress: ApiKeyProgress,
  action: ApiKeyAction,
  run: ApiKeyRun,
  coordination: IssueCoordination,
): Promise<ApiKeyPerformed> {
  const performer: Perform<never> = performers[action.kind];
  return performer(progress, action as never, run, coordination);
}
