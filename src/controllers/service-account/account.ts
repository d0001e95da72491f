/** A service account of the console as one object of ours knows it. */
import type { Readiness } from "../../api/conditions.ts";
import type { ServiceAccountStatus } from "../../api/service-account.ts";
import type { IamServiceAccount, IamServiceAccountDetail } from "../../iam/model.ts";

export interface Account {
  readonly saId: string;
  readonly tpn: string | undefined;
  readonly orgId: string;
  readonly projectId: string | undefined;
  readonly state: string | undefined;
  readonly origin: "Created" | "Imported";
  /** Absent where the console's answer lists no keys. */
  readonly liveKeyIds: readonly string[] | undefined;
}

/** What the status holds; `undefined` before the first account. */
export function fromStatus(status: ServiceAccountStatus | undefined): Account | undefined {
  if (status?.saId === undefined) return undefined;
  return {
    saId: status.saId,
    tpn: status.tpn,
    orgId: status.orgId ?? "",
    projectId: status.projectId,
    state: status.state,
    origin: status.origin ?? "Created",
    liveKeyIds: status.liveKeyIds,
  };
}

/** What the console answered, completed by what was known. */
export function fromConsole(
  seen: IamServiceAccount | IamServiceAccountDetail,
  known: Omit<Account, "saId" | "state">,
): Account {
  return {
    saId: seen.saId,
    tpn: tpnOf(seen) ?? known.tpn,
    orgId: seen.orgId ?? known.orgId,
    projectId: seen.projectId ?? known.projectId,
    state: seen.status,
    origin: known.origin,
    liveKeyIds: "keyIds" in seen ? seen.keyIds : known.liveKeyIds,
  };
}

/** Policies are bound to the tpn, so one that names another account is as good as none. */
function tpnOf({ tpn, saId }: IamServiceAccount): string | undefined {
  return tpn?.startsWith("tpn:") && tpn.endsWith(`:sa/${saId}`) ? tpn : undefined;
}

/** What the account itself allows to say about the object. */
export function accountReadiness({ saId, tpn, state, origin }: Account): Readiness {
  if (state !== undefined && state !== "active") {
    return {
      state: "Stalled",
      reason: "ServiceAccountNotActive",
      message: `The console says that service account ${saId} is ${state.slice(0, 64)}, not active; its keys do not work and none is issued. Activate it at the console.`,
    };
  }
  if (tpn === undefined) {
    return {
      state: "Reconciling",
      reason: "TpnUnknown",
      message: `The console's answer does not name the tpn of service account ${saId}; without it no policy can be bound.`,
    };
  }
  return {
    state: "Ready",
    reason: origin,
    message:
      origin === "Created"
        ? `Service account ${saId} exists at the console.`
        : `Service account ${saId} was imported from the console.`,
  };
}

/** saId, tpn and keys for the last words about an account. */
export function leftBehind({ saId, tpn, liveKeyIds }: Account): string {
  const keys =
    liveKeyIds === undefined
      ? "its keys could not be listed"
      : liveKeyIds.length === 0
        ? "no keys"
        : `keys when last listed: ${liveKeyIds.slice(0, 10).join(", ")}${liveKeyIds.length > 10 ? ` and ${liveKeyIds.length - 10} more` : ""}`;
  return `${saId} (${tpn ?? "tpn unknown"}), ${keys}`;
}
