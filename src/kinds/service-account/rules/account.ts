/** Interprets the console's responses about an account. Pure. */

import { creatorMismatch } from "../../../accounts/creator-mismatch.ts";
import type { Readiness } from "../../../api/conditions.ts";
import type { Ownership, ServiceAccountStatus } from "../../../api/service-account.ts";
import { quoteServerText } from "../../../console/errors.ts";
import type { IamServiceAccount, IamServiceAccountDetail } from "../../../console/model.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../reconciler/rules/waiting.ts";
import { creatorOf, markerOf, otherClusterIn } from "../../../resources/marker.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import { consoleURLOf, desiredAccount, expectedAccount } from "./desired-account.ts";
import { ifStatusWasEdited } from "./edited-status.ts";
import type {
  AccountSnapshot,
  Answered,
  KnownAccount,
  ListedKeys,
  WithAccount,
} from "./snapshot.ts";

type Ready = Extract<Readiness, { state: "Ready" }>;

/**
 * The account in the status; `undefined` before the first account, and if the status names another account than the
 * imported one.
 */
export function fromStatus(
  status: ServiceAccountStatus | undefined,
  importedId: string | undefined,
): KnownAccount | undefined {
  if (status?.saId === undefined) return undefined;
  if (importedId !== undefined && importedId !== status.saId) return undefined;
  return {
    saId: status.saId,
    name: status.name,
    tpn: tpnOf(status.saId, status.tpn),
    orgId: status.orgId ?? "",
    projectId: status.projectId,
    state: status.state,
    describedCluster: status.describedCluster,
    origin: status.origin ?? "Created",
    consoleURL: status.consoleURL,
    liveKeyIds: status.liveKeyIds,
    inactiveKeyIds: status.inactiveKeyIds,
    listsKeyStates: status.listsKeyStates,
  };
}

/** The account in the console's response, completed with the known values. */
export function fromConsole(
  answer: IamServiceAccount | IamServiceAccountDetail,
  known: Omit<KnownAccount, "saId" | "state">,
): KnownAccount {
  return {
    saId: answer.saId,
    name: known.name,
    tpn: tpnOf(answer.saId, answer.tpn) ?? known.tpn,
    orgId: answer.orgId ?? known.orgId,
    projectId: answer.projectId ?? known.projectId,
    state: answer.status,
    describedCluster: known.describedCluster,
    origin: known.origin,
    consoleURL: known.consoleURL,
    ...("keyIds" in answer ? listedKeys(answer) : keysOf(known)),
  };
}

function keysOf({ liveKeyIds, inactiveKeyIds, listsKeyStates }: ListedKeys): ListedKeys {
  return { liveKeyIds, inactiveKeyIds, listsKeyStates };
}

/** Separates keys that the console lists as inactive or expired from keys that may work. */
function listedKeys({ keyIds, keyRecords }: IamServiceAccountDetail): ListedKeys {
  const stateOf = (keyId: string) => keyRecords?.get(keyId)?.state;
  const live = keyIds?.filter((keyId) => stateOf(keyId) !== "Inactive");
  const inactive = keyIds?.filter((keyId) => stateOf(keyId) === "Inactive") ?? [];
  const showsStates = live?.length !== 0 && live?.every((keyId) => stateOf(keyId) === "Active");
  return {
    liveKeyIds: live,
    inactiveKeyIds: inactive.length === 0 ? undefined : inactive,
    listsKeyStates: showsStates === true ? true : undefined,
  };
}

/** Policies are bound to the TPN (resource name of the account), so the TPN of another account counts as absent. */
function tpnOf(saId: string, tpn: string | undefined): string | undefined {
  return tpn?.startsWith("tpn:") && tpn.endsWith(`:sa/${saId}`) ? tpn : undefined;
}

type JudgedAnswer =
  | { readonly ownership: "Owned"; readonly account: KnownAccount; readonly finding?: undefined }
  | {
      readonly ownership: Exclude<Ownership, "Owned" | "Claimed">;
      readonly account?: undefined;
      readonly finding: Waiting;
    };

/** The account from getServiceAccount, or why it is not the object's account; `undefined` before the call. */
export function judgeAnswer(snapshot: Answered): JudgedAnswer;
export function judgeAnswer(snapshot: AccountSnapshot): JudgedAnswer | undefined;
export function judgeAnswer(snapshot: AccountSnapshot): JudgedAnswer | undefined {
  const { answer } = snapshot;
  if (answer === undefined) return undefined;
  if (answer.detail === undefined) return missing(snapshot);
  const known = snapshot.account ?? expectedAccount(snapshot, "Imported");
  const describedCluster = otherClusterIn(answer.detail.description ?? "", snapshot.clusterName);
  const consoleURL = consoleURLOf(snapshot);
  const account = fromConsole(answer.detail, { ...known, describedCluster, consoleURL });
  const finding =
    snapshot.spec.saId === undefined
      ? createdMismatch(answer.detail, snapshot)
      : importedMismatch(account, snapshot);
  return finding === undefined
    ? { ownership: "Owned", account }
    : { ownership: "NotOwned", finding };
}

/** The known account after a response, which replaces it unless it describes a different account. */
export function accountAfter(
  snapshot: AccountSnapshot,
  answer: Answered["answer"],
): KnownAccount | undefined {
  return snapshot.account && (judgeAnswer({ ...snapshot, answer }).account ?? snapshot.account);
}

function missing({ account, spec }: AccountSnapshot): JudgedAnswer {
  if (account === undefined) {
    const message = `The console does not have service account ${spec.saId}. Delete this object and create it again with the correct spec.saId.`;
    return { ownership: "NotFound", finding: stalled("ServiceAccountNotFound", message) };
  }
  const message = `The console no longer has service account ${account.saId}. The operator does not create it again: its keys and policies are lost. Use kubectl iam replace-account to move the ApiKeys and policies to a new account, or delete the ApiKeys and PolicyBindings of the account and this object, and create them again.`;
  return { ownership: "Gone", finding: stalled("ServiceAccountGone", message) };
}

/** Finding if the account in the status cannot be the account created for the object. */
function createdMismatch(
  answer: IamServiceAccount,
  snapshot: AccountSnapshot,
): Waiting | undefined {
  const { saId, name = "", projectId, description = "" } = answer;
  const desired = desiredAccount(snapshot);
  const { spec } = snapshot;
  if (spec.projectId !== undefined && projectId !== undefined && projectId !== spec.projectId)
    return projectMismatch(saId, spec.projectId);
  const mismatch = creatorMismatch(answer, desired);
  if (mismatch === undefined) return undefined;
  const what =
    mismatch === "Maker"
      ? `was made for ServiceAccount ${quoteServerText(creatorOf(description) ?? "")}${inCluster(description)}`
      : `is named ${quoteServerText(name)}, not ${desired.name}`;
  const renamed =
    mismatch === "Maker" ? "" : " If the account was renamed in the console, restore its name.";
  return stalled(
    "ServiceAccountMismatch",
    `Service account ${saId}, which the status names, ${what} in the console, so it does not belong to this object. The operator does not change it.${renamed} ${ifStatusWasEdited(snapshot)}`,
  );
}

/** The cluster that a description names, for a message about the object that it names. */
function inCluster(description: string): string {
  const { cluster } = markerOf(description) ?? {};
  return cluster === undefined ? "" : ` of cluster ${cluster}`;
}

/** Finding if an imported account differs from the spec. */
function importedMismatch(account: KnownAccount, snapshot: AccountSnapshot): Waiting | undefined {
  const { projectId } = snapshot.spec;
  const { orgId } = desiredAccount(snapshot);
  if (account.orgId !== orgId) {
    return stalled(
      "OrganizationMismatch",
      `Service account ${account.saId} does not belong to organization ${orgId} of the connection.`,
    );
  }
  return projectId === undefined || account.projectId === projectId
    ? undefined
    : projectMismatch(account.saId, projectId);
}

function projectMismatch(saId: string, projectId: string): Waiting {
  return stalled(
    "ProjectMismatch",
    `Service account ${saId} does not belong to project ${projectId}.`,
  );
}

/** The object's readiness from the account alone: ready, or what the object waits for. */
export function accountReadiness({ saId, tpn, state, origin }: KnownAccount): Ready | Waiting {
  if (state !== undefined && state !== "active") {
    return stalled(
      "ServiceAccountNotActive",
      `The console reports that service account ${saId} is ${state.slice(0, 64)}, not active: its keys do not work, and the operator issues no key. Activate the account in the console.`,
    );
  }
  if (tpn === undefined) return tpnUnknown(saId, "without it no policy can be bound");
  const message =
    origin === "Created"
      ? `Service account ${saId} exists in the console.`
      : `Service account ${saId} was imported from the console.`;
  return { state: "Ready", reason: origin, message };
}

export function tpnUnknown(saId: string, consequence: string): Waiting {
  return reconciling(
    "TpnUnknown",
    `The console's answer does not name the tpn of service account ${saId}; ${consequence}.`,
  );
}

/** saId, TPN and keys of the account, for the events of a deletion. */
export function accountSummary(snapshot: WithAccount): string {
  const { saId, tpn, ...keys } = judgeAnswer(snapshot)?.account ?? snapshot.account;
  const isShown = snapshot.object.status?.keyCount !== undefined;
  return `${saId} (${tpn ?? "tpn unknown"}; ${keysText(keys, isShown)})`;
}

/** An account is created with an empty list, so only a list that follows a list with keys shows that there are none. */
function keysText({ liveKeyIds, inactiveKeyIds }: ListedKeys, isShown: boolean): string {
  if (liveKeyIds === undefined) return "its keys could not be listed";
  if (liveKeyIds.length > 0) return `keys when last listed: ${truncateList(liveKeyIds, 10)}`;
  if (inactiveKeyIds !== undefined) return "only inactive or expired keys when last listed";
  return isShown ? "no keys when last listed" : "it is not known whether it has keys";
}
