/** `import`: creates a ServiceAccount for an existing account of the console. */
import type { ConnectionRef } from "../../api/fields.ts";
import { API_VERSION } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { serviceAccountKind } from "../../api/service-account.ts";
import { isIamError } from "../../console/errors.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, Failure, UsageError } from "../cli/errors.ts";
import { isToWait } from "../cluster/change.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { createObject } from "../cluster/create-object.ts";
import { checkName } from "../cluster/kinds.ts";
import { findObject } from "../cluster/read.ts";
import { readCredentials, readTarget } from "../console/connection-target.ts";
import { connectionRefOf, givenConnection, readConnection } from "../console/from-cluster.ts";
import { openSession } from "../console/session.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const [saId = ""] = args;
  if (options.name !== undefined) checkName(options.name);
  const given = givenConnection(options);
  const parsed = parseSpec(serviceAccountKind, { spec: { saId } });
  if (!parsed.ok) throw new UsageError(parsed.message);
  await using cluster = await openCluster(io, options);
  const ref = await connectionRefOf(cluster, given);
  const name = options.name ?? (await chooseName(invocation, cluster, ref, saId));
  if (options.name === undefined && (await findObject(cluster, { kind: "ServiceAccount", name })))
    throw new UsageError(`iamsa/${name} exists already: choose another name with --name`);
  const connection = options.connection === undefined ? {} : { connectionRef: ref };
  const object = {
    apiVersion: API_VERSION,
    kind: "ServiceAccount",
    metadata: { name, namespace: cluster.namespace },
    spec: { ...connection, saId },
  };
  const code = await createObject(invocation, cluster, "ServiceAccount", object, {
    about: ` for account ${saId}`,
  });
  if (isToWait(options))
    io.note("Deleting this object keeps the account; see spec.deletionPolicy.");
  return code;
}

/** By the account's name in the console; by its ID if you cannot read the name. Throws UsageError if neither works. */
async function chooseName(
  invocation: Invocation,
  cluster: Cluster,
  ref: ConnectionRef,
  saId: string,
): Promise<string> {
  const known = await readAccountName(invocation, cluster, ref, saId);
  const named = toObjectName(known ?? "");
  if (named !== undefined) return named;
  const name = toObjectName(saId);
  if (name === undefined)
    throw new UsageError(`"${saId}" does not yield an object name: give a name with --name`);
  const why = known === undefined ? "is not known here" : "does not yield an object name";
  invocation.io.note(
    `The account's name ${why}, so the object is called ${name}: --name chooses another name.`,
  );
  return name;
}

/** `undefined` without permission to read the connection's login, or without an answer of the console. */
async function readAccountName(
  { io, options }: Invocation,
  cluster: Cluster,
  ref: ConnectionRef,
  saId: string,
): Promise<string | undefined> {
  try {
    const spec = await readConnection(cluster, ref);
    const target = await readTarget(cluster, ref, spec, options);
    const user = await readCredentials(cluster, ref, spec, options);
    await using session = openSession(target, { user, key: undefined }, io);
    return (await session.client.getServiceAccount(saId))?.name;
  } catch (error) {
    const isExpected =
      error instanceof Failure || isIamError(error) || isKubeError(error, "Forbidden");
    if (!isExpected) throw error;
    return undefined;
  }
}

/** A name or an ID of the console can contain characters that are not valid in the name of an object. */
function toObjectName(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? undefined : name;
}
