import type { Steps } from "../../../reconciler/steps.ts";
import type { IssueCoordination } from "../attempts.ts";
import type { ApiKeyKind } from "../rules/snapshot.ts";
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
import { rehearse } from "./rehearse.ts";
import { endKey } from "./retire.ts";
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

export function apiKeySteps(coordination: IssueCoordination): Steps<ApiKeyKind> {
  return {
    ReadTarget: readTarget,
    StagePair: stagePair(coordination),
    NoteStaged: noteStaged(coordination),
    StartRecovery: startRecovery(coordination),
    ReadUnexplainedKeys: readUnexplainedKeys(coordination),
    CloseAttempt: closeAttempt(coordination),
    VerifyPair: verifyPair,
    SwitchSecret: switchSecret,
    CommitKey: commitKey,
    DeleteStaging: deleteStaging,
    DeleteTarget: deleteTarget,
    ListUnlistedKey: listUnlistedKey(coordination),
    RebuildStatus: rebuildStatus,
    ListKeysBeforeRestore: listKeysBeforeRestore,
    ListLateKeys: listLateKeys(coordination),
    QueueForAccount: queueForAccount(coordination),
    Precheck: precheck,
    Rehearse: rehearse,
    RecordIntent: recordIntent(coordination),
    IssueKey: issueKey(coordination),
    RenderSecret: renderSecret,
    DisableKey: endKey,
    DeleteKey: endKey,
  };
}
