/** `import`: creates a ServiceAccount for an existing account of the console. */
import { API_VERSION } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { serviceAccountKind } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, UsageError } from "../cli/errors.ts";
import { isToWait } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { createObject } from "../cluster/create-object.ts";
import { parseObjectName } from "../cluster/kinds.ts";
import { connectionRefOf } from "../console/from-cluster.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const [saId = ""] = args;
  const name = options.name ?? nameFor(saId);
  parseObjectName(name, "ServiceAccount");
  const connection =
    options.connection === undefined ? {} : { connectionRef: connectionRefOf(options) };
  await using cluster = await openCluster(io, options);
  const object = {
    apiVersion: API_VERSION,
    kind: "ServiceAccount",
    metadata: { name, namespace: cluster.namespace },
    spec: { ...connection, saId },
  };
  const parsed = parseSpec(serviceAccountKind, object);
  if (!parsed.ok) throw new UsageError(parsed.message);
  const code = await createObject(invocation, cluster, "ServiceAccount", object, {
    about: ` for account ${saId}`,
    advice: ` To undo the import: kubectl delete iamsa/${name} -n ${cluster.namespace}`,
  });
  if (isToWait(options))
    io.note("Deleting this object keeps the account; see spec.deletionPolicy.");
  return code;
}

/** A console ID can contain characters that are not valid in the name of an object. */
function nameFor(saId: string): string {
  const name = saId
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  if (name !== "") return name;
  throw new UsageError(`"${saId}" does not yield an object name: give a name with --name`);
}
