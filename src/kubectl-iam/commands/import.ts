/** `import`: creates a ServiceAccount for an existing account of the console. */
import { API_VERSION } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { serviceAccountKind } from "../../api/service-account.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { readChain } from "../cluster/chain.ts";
import { isToWait } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { type AnyObject, parseObjectName, typeOf } from "../cluster/kinds.ts";
import { waitForAll } from "../cluster/wait.ts";
import { whyHeld } from "../cluster/why-held.ts";
import { toYaml } from "../view/output.ts";
import { printReadiness } from "../view/print-readiness.ts";
import { readinessOf } from "../view/readiness.ts";

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
  if (options.dryRun === "client") {
    io.print(options.output === "json" ? JSON.stringify(object, null, 2) : await toYaml(object));
    return exitCode.ok;
  }
  const isDryRun = options.dryRun === "server";
  const created = await cluster.kube.create<KubeObject>(typeOf("ServiceAccount"), object as never, {
    dryRun: isDryRun,
  });
  io.print(`iamsa/${name} created for account ${saId}${isDryRun ? " (server dry run)" : ""}`);
  if (!isToWait(options)) return exitCode.ok;
  return waitForAll(invocation, cluster, [created as AnyObject], {
    look: async (account) => {
      const { ready } = readinessOf(account);
      if (ready === "True") return undefined;
      const held = whyHeld(await readChain(cluster, account));
      return held?.isFinal
        ? { ...held, text: `${held.text} ${undo(account)}` }
        : (held ?? { text: "waiting for the operator" });
    },
    done: (account) => {
      const code = printReadiness(io, account);
      io.note("Deleting this object keeps the account; see spec.deletionPolicy.");
      return code;
    },
  });
}

function undo({ metadata }: AnyObject): string {
  return `To undo the import: kubectl delete iamsa/${metadata.name} -n ${metadata.namespace}`;
}

function connectionOf(text: string | undefined): object {
  if (text === undefined) return {};
  const connectionRef = parseObjectName(text, "ClusterConnection");
  if (connectionRef.kind === "Connection" || connectionRef.kind === "ClusterConnection")
    return { connectionRef };
  throw new UsageError(`"${text}" is not a connection: give a name such as iamcconn/default`);
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
