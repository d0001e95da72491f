/** All effects of runs over ApiKeys. */
import type { IssueCoordination } from "../coordination.ts";
import { issueKey, precheck, recordIntent } from "./issue.ts";
import {
  closeAttempt,
  listKeysBeforeRestore,
  listLateKeys,
  listUnlistedKey,
  rebuildStatus,
  settleAttempt,
  startRecovery,
} from "./recover.ts";
import { rehearse } from "./rehearse.ts";
import { endKey } from "./retire.ts";
import {
  commitKey,
  deletePending,
  deleteTarget,
  noteStaged,
  readPairToCheck,
  readTarget,
  renderSecret,
  stagePair,
  switchSecret,
} from "./secret.ts";
import { checkKeyInUse, verifyPair } from "./verify.ts";

export type KeyEffects = ReturnType<typeof apiKeyEffects>;

export function apiKeyEffects(coordination: IssueCoordination) {
  return {
    readTarget,
    readPairToCheck,
    stagePair: stagePair(coordination),
    noteStaged: noteStaged(coordination),
    startRecovery,
    settleAttempt,
    closeAttempt,
    checkKeyInUse,
    verifyPair,
    switchSecret,
    commitKey,
    deletePending,
    deleteTarget,
    listUnlistedKey: listUnlistedKey(coordination),
    rebuildStatus,
    listKeysBeforeRestore,
    listLateKeys,
    precheck,
    rehearse,
    recordIntent: recordIntent(coordination),
    issueKey: issueKey(coordination),
    renderSecret,
    disableKey: endKey("disableKey"),
    deleteKey: endKey("deleteKey"),
  };
}
