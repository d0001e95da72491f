/** The console account that an object describes. Pure. */
import { createHash } from "node:crypto";
import { keyOf, type ObjectKey } from "../../../kube/resource.ts";
import { originOf } from "../../connection-origin.ts";
import { accessToRevoke } from "../../frame/context.ts";
import type { AccountSnapshot, KnownAccount } from "./snapshot.ts";

export interface DesiredAccount {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly orgId: string;
  readonly projectId: string;
  readonly name: string;
}

/**
 * The spec, completed with the connection's defaults. Without a usable connection, organization and project may be
 * empty.
 */
export function desiredAccount({
  object,
  spec,
  connection,
}: Pick<AccountSnapshot, "object" | "spec" | "connection">): DesiredAccount {
  const defaults = accessToRevoke(connection)?.spec;
  const key = keyOf(object);
  return {
    key,
    uid: object.metadata.uid,
    orgId: spec.orgId ?? defaults?.orgId ?? "",
    projectId: spec.projectId ?? defaults?.projectId ?? "",
    name: spec.name ?? defaultName(key),
  };
}

/** Values assumed for an account if the console does not return them. */
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
    inactiveKeyIds: undefined,
    listsKeyStates: undefined,
  };
}

/** Origin of the connection's console. */
export function consoleURLOf({ connection }: AccountSnapshot): string | undefined {
  const spec = accessToRevoke(connection)?.spec;
  return spec && originOf(spec.baseURL);
}

/** Maximum length of spec.name. */
const MAX_NAME_LENGTH = 128;

/** All namespaces of a project share the names of accounts. Long names are cut and made unique with a hash. */
function defaultName({ namespace, name }: ObjectKey): string {
  const whole = `${namespace}-${name}`;
  if (whole.length <= MAX_NAME_LENGTH) return whole;
  const hash = createHash("sha256").update(`${namespace}/${name}`).digest("hex").slice(0, 16);
  return `${whole.slice(0, MAX_NAME_LENGTH - hash.length - 1)}-${hash}`;
}
