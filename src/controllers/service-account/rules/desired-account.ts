/** Which account an object stands for. Pure. */
import { keyOf, type ObjectKey } from "../../../kube/resource.ts";
import { originOf } from "../../connection-origin.ts";
import type { AccountSnapshot, KnownAccount } from "./snapshot.ts";

export interface DesiredAccount {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly orgId: string;
  readonly projectId: string;
  readonly name: string;
}

/** The spec, completed by the connection; without a usable one, organization and project may be empty. */
export function desiredAccount({ object, spec, connection }: AccountSnapshot): DesiredAccount {
  const defaults = connection.ok ? connection.access.spec : undefined;
  const key = keyOf(object);
  return {
    key,
    uid: object.metadata.uid,
    orgId: spec.orgId ?? defaults?.orgId ?? "",
    projectId: spec.projectId ?? defaults?.projectId ?? "",
    name: spec.name ?? key.name,
  };
}

/** What is assumed of an account where the console does not tell. */
export function expectedAccount(
  snapshot: AccountSnapshot,
  origin: KnownAccount["origin"],
): Omit<KnownAccount, "saId" | "state"> {
  const { orgId, projectId } = desiredAccount(snapshot);
  return {
    tpn: undefined,
    orgId,
    projectId: projectId === "" ? undefined : projectId,
    origin,
    consoleURL: consoleURLOf(snapshot),
    liveKeyIds: undefined,
  };
}

/** Origin of the console that the connection leads to. */
export function consoleURLOf({ connection }: AccountSnapshot): string | undefined {
  return connection.ok ? originOf(connection.access.spec.baseURL) : undefined;
}
