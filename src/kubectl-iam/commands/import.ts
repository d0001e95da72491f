/** `import`: a ServiceAccount for an account that the console has already. */
import { API_VERSION } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { serviceAccountKind } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { openCluster } from "../cluster/cluster.ts";
import { parseObjectName, typeOf } from "../cluster/kinds.ts";
import { toYaml } from "../view/output.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const [saId = ""] = args;
  const name = options.name ?? nameFor(saId);
  parseObjectName(name, "ServiceAccount");
  await using cluster = await openCluster(io, options);
  const object = {
    apiVersion: API_VERSION,
    kind: "ServiceAccount",
    metadata: { name, namespace: cluster.namespace },
    spec: { ...connectionOf(options.connection), saId },
  };
  const parsed = parseSpec(serviceAccountKind, object);
  if (!parsed.ok) throw new UsageError(parsed.message);
  if (options.dryRun) {
    io.print(options.output === "json" ? JSON.stringify(object, null, 2) : await toYaml(object));
    return exitCode.ok;
  }
  await cluster.kube.create(typeOf("ServiceAccount"), object as never);
  io.print(`serviceaccount/${name} created for account ${saId}`);
  io.note("It is kept at the console when this object is deleted; see spec.deletionPolicy.");
  return exitCode.ok;
}

function connectionOf(text: string | undefined): object {
  if (text === undefined) return {};
  const connectionRef = parseObjectName(text, "ClusterConnection");
  if (connectionRef.kind === "Connection" || connectionRef.kind === "ClusterConnection")
    return { connectionRef };
  throw new UsageError(`"${text}" is no connection: name one, such as clusterconnection/default`);
}

/** An id of the console may hold what no name of an object does. */
function nameFor(saId: string): string {
  const name = saId
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  if (name !== "") return name;
  throw new UsageError(`no name can be made from "${saId}": give one by --name`);
}
