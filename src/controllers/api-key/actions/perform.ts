import { assertNever } from "../../../util/assert-never.ts";
import type { IssueCoordination } from "../attempts.ts";
import type { ApiKeyAction, ApiKeyProgress } from "../rules/snapshot.ts";
import { acquireAccount, issueKey, precheck, queueForAccount, recordIntent } from "./issue.ts";
import {
  closeAttempt,
  listKeysBeforeRestore,
  listUnlistedKey,
  readUnexplainedKeys,
  rebuildStatus,
  startRecovery,
} from "./recover.ts";
import { endKey } from "./retire.ts";
import type { ApiKeyRun } from "./run.ts";
import {
  commitKey,
  deleteSecret,
  noteStaged,
  renderSecret,
  stagePair,
  switchSecret,
} from "./secret.ts";
import { verifyPair } from "./verify.ts";

/**
 * Carries out one action: one effect at most, and what it proves. Answers where the run has got to then; rejects at
 * the first failure, with a PartialFailure where something has changed all the same.
 */
export async function perform(
  action: ApiKeyAction,
  progress: ApiKeyProgress,
  run: ApiKeyRun,
  coordination: IssueCoordination,
): Promise<ApiKeyProgress> {
  switch (action.kind) {
    case "StagePair":
      return stagePair(progress, action, run, coordination);
    case "NoteStaged":
      return noteStaged(progress, run, coordination);
    case "StartRecovery":
      return startRecovery(progress, action, run);
    case "ReadUnexplainedKeys":
      return readUnexplainedKeys(progress, run);
    case "CloseAttempt":
      return closeAttempt(progress, action, run, coordination);
    case "VerifyPair":
      return verifyPair(progress, action, run);
    case "SwitchSecret":
      return switchSecret(progress, action, run);
    case "CommitKey":
      return commitKey(progress, action, run);
    case "DeleteStaging":
      return deleteSecret(progress, "staging", run);
    case "DeleteTarget":
      return deleteSecret(progress, "target", run);
    case "ListUnlistedKey":
      return listUnlistedKey(progress, action, run, coordination);
    case "RebuildStatus":
      return rebuildStatus(progress, action, run);
    case "ListKeysBeforeRestore":
      return listKeysBeforeRestore(progress, action, run);
    case "QueueForAccount":
      return queueForAccount(progress, coordination);
    case "AcquireAccount":
      return acquireAccount(progress, coordination);
    case "Precheck":
      return precheck(progress, run);
    case "RecordIntent":
      return recordIntent(progress, action, run, coordination);
    case "IssueKey":
      return issueKey(progress, run, coordination);
    case "RenderSecret":
      return renderSecret(progress, action, run);
    case "DisableKey":
    case "DeleteKey":
      return endKey(progress, action, run);
    case "FailRun":
      throw action.error;
    default:
      return assertNever(action);
  }
}
