/** Rules over what is known before any call to the console is made. */
import type { Readiness } from "../../api/conditions.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { keyText } from "../../kube/resource.ts";
import type { Known } from "./observe.ts";

export type Policy = (seen: Known) => Readiness | undefined;

/** In order: a later policy may rely on every earlier one having found nothing. */
export const barriers: readonly Policy[] = [
  specIsInvalid,
  accountIsSuspendedBeforeItExists,
  connectionIsNotUsable,
  organizationIsForeign,
  projectIsMissing,
  importIsNotGranted,
];

export function firstFinding(policies: readonly Policy[], seen: Known): Readiness | undefined {
  for (const policy of policies) {
    const finding = policy(seen);
    if (finding !== undefined) return finding;
  }
  return undefined;
}

function specIsInvalid({ wish }: Known): Readiness | undefined {
  return wish.ok
    ? undefined
    : {
        state: "Stalled",
        reason: "InvalidSpec",
        message: `The spec is not valid: ${wish.message}`,
      };
}

function accountIsSuspendedBeforeItExists({ wish, account }: Known): Readiness | undefined {
  return wish.ok && wish.spec.suspend && account === undefined
    ? {
        state: "Reconciling",
        reason: "Suspended",
        message: "Nothing is created or imported while spec.suspend is true.",
      }
    : undefined;
}

function connectionIsNotUsable({ lookup }: Known): Readiness | undefined {
  if (lookup.ok) return undefined;
  const { reason, message } = lookup;
  return { state: reason === "NotGranted" ? "Stalled" : "Reconciling", reason, message };
}

function organizationIsForeign({ wish, lookup }: Known): Readiness | undefined {
  if (!wish.ok || !lookup.ok) return undefined;
  const { orgId } = lookup.access.spec;
  return wish.spec.orgId === undefined || wish.spec.orgId === orgId
    ? undefined
    : {
        state: "Stalled",
        reason: "OrganizationMismatch",
        message: `spec.orgId is ${wish.spec.orgId}, but the connection is for organization ${orgId}. Leave it out, or use a connection of that organization.`,
      };
}

function projectIsMissing({ wish, lookup, account }: Known): Readiness | undefined {
  if (!wish.ok || !lookup.ok || account !== undefined || wish.spec.saId !== undefined)
    return undefined;
  return wish.spec.projectId === undefined && lookup.access.spec.projectId === undefined
    ? {
        state: "Stalled",
        reason: "ProjectMissing",
        message:
          "Neither spec.projectId nor the connection names a project. Set projectId in one of them.",
      }
    : undefined;
}

function importIsNotGranted({ wish, lookup }: Known): Readiness | undefined {
  if (!wish.ok || !lookup.ok || wish.spec.saId === undefined) return undefined;
  return lookup.access.grant.importServiceAccounts
    ? undefined
    : {
        state: "Stalled",
        reason: "NotGranted",
        message: `The connection does not let this namespace import service accounts. Leave out spec.saId, or ask its administrator to set importServiceAccounts: true in the grant.`,
      };
}

/** One console account is managed by one object in the cluster. */
export function claimIsLost(
  saId: string,
  self: string,
  winner: ServiceAccount | undefined,
): Readiness | undefined {
  if (winner === undefined || winner.metadata.uid === self) return undefined;
  const { namespace = "", name } = winner.metadata;
  return {
    state: "Stalled",
    reason: "AlreadyClaimed",
    message: `Service account ${saId} is already managed by the older ServiceAccount ${keyText({ namespace, name })}. Delete one of the two.`,
  };
}
