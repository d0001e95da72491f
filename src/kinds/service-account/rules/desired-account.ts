/** The console account that an object describes. Pure. */
import { createHash } from "node:crypto";
import { originOf } from "../../../connections/connection-origin.ts";
import { keyOf, type ObjectKey } from "../../../kube/resource.ts";
import { accessToRevoke } from "../../../reconciler/context.ts";
import type { AccountSnapshot, KnownAccount } from "./snapshot.ts";

export interface DesiredAccount {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly clusterName: string | undefined;
  readonly orgId: string;
  readonly projectId: string;
  readonly name: string;
}

interface Named {
  readonly name?: string | undefined;
}

interface Described
  extends Pick<AccountSnapshot, "object" | "spec" | "connection" | "clusterName"> {
  readonly account: Named | undefined;
  readonly attempt: Named | undefined;
}

/**
 * The spec, completed with the connection's defaults. Without a usable connection, organization and project may be
 * empty. An account, and one that an attempt may have created, keeps its name if the connection's prefix changes.
 */
export function desiredAccount({
  object,
  spec,
  connection,
  clusterName,
  account,
  attempt,
}: Described): DesiredAccount {
  const defaults = accessToRevoke(connection)?.spec;
  const asked = account ?? attempt;
  const prefix = asked === undefined ? defaults?.accountNamePrefix : undefined;
  const key = keyOf(object);
  return {
    key,
    uid: object.metadata.uid,
    clusterName,
    orgId: spec.orgId ?? defaults?.orgId ?? "",
    projectId: spec.projectId ?? defaults?.projectId ?? "",
    name: spec.name ?? asked?.name ?? defaultName(key, prefix),
  };
}

/** Values assumed for an account if the console does not return them. */
export function expectedAccount(
  snapshot: AccountSnapshot,
  origin: KnownAccount["origin"],
): Omit<KnownAccount, "saId" | "state"> {
  const { orgId, projectId, name } = desiredAccount(snapshot);
  return {
    name: origin === "Created" ? name : undefined,
    tpn: undefined,
    orgId,
    projectId: projectId === "" ? undefined : projectId,
    describedCluster: undefined,
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

/** All namespaces and clusters that use a project share the names of accounts. Long names are cut and made unique with a hash. */
function defaultName({ namespace, name }: ObjectKey, prefix = ""): string {
  const whole = `${prefix}${namespace}-${name}`;
  if (whole.length <= MAX_NAME_LENGTH) return whole;
  const hash = createHash("sha256").update(`${namespace}/${name}`).digest("hex").slice(0, 16);
  return `${whole.slice(0, MAX_NAME_LENGTH - hash.length - 1)}-${hash}`;
}
