import { assertNever } from "../../util/assert-never.ts";
import { addFinalizer } from "../frame/finalizers.ts";
import { apiKeyType } from "../resource-types.ts";
import { closeAttempt, endKey, readLeftovers, verifyPair } from "./console.ts";
import type { Surroundings } from "./effects.ts";
import { listForgotten } from "./forgotten.ts";
import { issueKey, precheck, recordAttempt, stagePair, takeTurn } from "./issue.ts";
import type { Observed } from "./observed.ts";
import type { Action } from "./plan.ts";
import {
  commitKey,
  deleteSecret,
  listStray,
  rebuildStatus,
  renderSecret,
  switchSecret,
} from "./write-secret.ts";

/** Carries out one action and answers what is seen then. Throws at the first failure. */
export async function apply(
  action: Action,
  seen: Observed,
  around: Surroundings,
): Promise<Observed> {
  switch (action.kind) {
    case "AddFinalizer":
      return holdObject(seen, around);
    case "StagePair":
      return stagePair(seen, action, around);
    case "ReadLeftovers":
      return readLeftovers(seen, around);
    case "CloseAttempt":
      return closeAttempt(seen, action, around);
    case "VerifyPair":
      return verifyPair(seen, action.pair, around);
    case "SwitchSecret":
      return switchSecret(seen, action, around);
    case "CommitKey":
      return commitKey(seen, action.pair, around);
    case "DeleteStaging":
      return deleteSecret(seen, "staging", around);
    case "ListStray":
      return listStray(seen, action.pair, around);
    case "ListForgotten":
      return listForgotten(seen, action, around);
    case "RebuildStatus":
      return rebuildStatus(seen, action.pair, around);
    case "TakeTurn":
      return takeTurn(seen, around);
    case "Precheck":
      return precheck(seen, around);
    case "RecordAttempt":
      return recordAttempt(seen, action, around);
    case "IssueKey":
      return issueKey(seen, around);
    case "RenderSecret":
      return renderSecret(seen, action, around);
    case "DisableKey":
    case "DeleteKey":
      return endKey(seen, action, around);
    default:
      return assertNever(action);
  }
}

async function holdObject(seen: Observed, { context }: Surroundings): Promise<Observed> {
  const object = await addFinalizer(context, apiKeyType, context.caches.apiKeys, seen.object);
  return { ...seen, object, self: { ...seen.self, hasFinalizer: true } };
}
