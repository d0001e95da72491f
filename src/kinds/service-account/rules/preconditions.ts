/** Preconditions for any call to the console. Pure. */

import type { IamServiceAccount } from "../../../console/model.ts";
import { keyOf, keyText } from "../../../kube/resource.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { stalled } from "../../../reconciler/rules/waiting.ts";
import { isOfOtherCluster, markerOf } from "../../../resources/marker.ts";
import { MINUTE } from "../../../util/time.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import { ifStatusWasEdited } from "./edited-status.ts";
import { otherOwnerOf } from "./owner.ts";
import type { AccountSnapshot } from "./snapshot.ts";

const RECHECK_MS = MINUTE;
const CLAIM_RECHECK_MS = 10 * MINUTE;

type Precondition = (snapshot: AccountSnapshot) => Waiting | undefined;

/** In order: each rule may rely on all earlier rules having found nothing. */
export const preconditions: readonly Precondition[] = [
  suspendedWithoutAccount,
  connectionNotUsable,
  organizationForeign,
  projectMissing,
  projectNotGranted,
  importNotGranted,
  claimLost,
  tooManyAccounts,
];

function suspendedWithoutAccount({ spec, account }: AccountSnapshot): Waiting | undefined {
  return spec.suspend && account === undefined
    ? stalled("Suspended", "Nothing is created or imported while spec.suspend is true.", RECHECK_MS)
    : undefined;
}

export function connectionNotUsable({ connection }: AccountSnapshot): Waiting | undefined {
  return connection.ok ? undefined : { ...connection.waiting, afterMs: RECHECK_MS };
}

function organizationForeign({ spec, connection }: AccountSnapshot): Waiting | undefined {
  if (!connection.ok) return undefined;
  const { orgId } = connection.access.spec;
  return spec.orgId === undefined || spec.orgId === orgId
    ? undefined
    : stalled(
        "OrganizationMismatch",
        `spec.orgId is ${spec.orgId}, but the connection is for organization ${orgId}. Create this object again without spec.orgId, or with a connection of organization ${spec.orgId}.`,
        RECHECK_MS,
      );
}

function projectMissing({ spec, connection, account }: AccountSnapshot): Waiting | undefined {
  if (!connection.ok || account !== undefined || spec.saId !== undefined) return undefined;
  return spec.projectId === undefined && connection.access.spec.projectId === undefined
    ? stalled(
        "ProjectMissing",
        "Neither spec.projectId nor the connection names a project. Set projectId of the connection, or create this object again with spec.projectId.",
        RECHECK_MS,
      )
    : undefined;
}

function projectNotGranted({ spec, connection, account }: AccountSnapshot): Waiting | undefined {
  if (!connection.ok || account !== undefined || spec.projectId === undefined) return undefined;
  const { grant, spec: defaults } = connection.access;
  const { projectId } = spec;
  const granted = [defaults.projectId, ...grant.projectIds];
  return granted.includes(projectId) || granted.includes("*")
    ? undefined
    : stalled(
        "ProjectNotGranted",
        `No grant allows this namespace to have accounts in project ${projectId}. Create this object again without spec.projectId, or ask the connection's administrator to add the project to projectIds of a grant.`,
        RECHECK_MS,
      );
}

/** Objects that have an account keep it and come first; then the oldest objects. */
function tooManyAccounts(snapshot: AccountSnapshot): Waiting | undefined {
  const { connection, account, attempt, accountsBefore } = snapshot;
  if (!connection.ok || account !== undefined || attempt !== undefined) return undefined;
  const { maxServiceAccounts = Number.POSITIVE_INFINITY } = connection.access.grant;
  return accountsBefore < maxServiceAccounts ? undefined : tooMany(maxServiceAccounts, "");
}

/** Accounts created for the namespace count while the console has them, even if their objects are deleted. */
export function tooManyCreated(
  snapshot: AccountSnapshot,
  accounts: readonly IamServiceAccount[],
): Waiting | undefined {
  const { connection, object, unmarkedBefore, clusterName } = snapshot;
  const { maxServiceAccounts } = connection.ok ? connection.access.grant : {};
  if (maxServiceAccounts === undefined) return undefined;
  const created = accounts.filter(({ description = "" }) => {
    const marker = markerOf(description);
    const isOfNamespace = marker?.namespace === object.metadata.namespace;
    return isOfNamespace && !isOfOtherCluster(marker, clusterName);
  });
  if (created.length + unmarkedBefore < maxServiceAccounts) return undefined;
  const names = truncateList(
    created.map(({ saId }) => saId),
    5,
  );
  return tooMany(
    maxServiceAccounts,
    ` Accounts in the console that were created for it (${created.length}): ${names}.`,
  );
}

function tooMany(most: number, created: string): Waiting {
  return stalled(
    "TooManyServiceAccounts",
    `The grant of this namespace has maxServiceAccounts: ${most}, and that many accounts of this connection exist or are being created.${created} Delete a ServiceAccount that nothing uses, and its account in the console, or ask the connection's administrator for a higher maxServiceAccounts.`,
    RECHECK_MS,
  );
}

function importNotGranted({ spec, connection, account }: AccountSnapshot): Waiting | undefined {
  if (!connection.ok || spec.saId === undefined) return undefined;
  if (connection.access.grant.importServiceAccounts) return undefined;
  // Keys of an account that was imported earlier can be in use.
  const again = account === undefined ? ", or create this object again without spec.saId" : "";
  return stalled(
    "NotGranted",
    `The connection does not allow this namespace to import service accounts. Ask the connection's administrator to set importServiceAccounts: true in the grant${again}.`,
    RECHECK_MS,
  );
}

/** Only one object in the cluster manages a console account. */
function claimLost(snapshot: AccountSnapshot): Waiting | undefined {
  const saId = snapshot.account?.saId ?? snapshot.spec.saId;
  const owner = saId === undefined ? undefined : otherOwnerOf(saId, snapshot);
  if (owner === undefined) return undefined;
  const advice =
    snapshot.spec.saId === undefined
      ? ifStatusWasEdited(snapshot)
      : "Delete the one of the two that nothing uses, with spec.deletionPolicy: Retain: that changes nothing in the console.";
  const message = `Service account ${saId} is already managed by ServiceAccount ${keyText(keyOf(owner))}. ${advice}`;
  return stalled("AlreadyClaimed", message, CLAIM_RECHECK_MS);
}
