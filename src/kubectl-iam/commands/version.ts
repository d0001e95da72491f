/** `version`: prints the version of the plugin and of the operator in the cluster. */
import { version } from "../../app/version.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { Invocation } from "../cli/command.ts";
import { UsageError } from "../cli/errors.ts";
import { openCluster } from "../cluster/cluster.ts";
import { operatorDeployments, operatorNamespace } from "../cluster/operator.ts";

const VERSION_LABEL = "app.kubernetes.io/version";

export async function run(invocation: Invocation): Promise<void> {
  const { io, options } = invocation;
  io.print(`kubectl-iam ${version}`);
  if (options.client) return;
  for (const line of await operatorVersions(invocation)) io.print(line);
}

/** Empty, with a note, if the version is unknown. */
async function operatorVersions({ io, options }: Invocation): Promise<readonly string[]> {
  const namespace = operatorNamespace(options);
  try {
    await using cluster = await openCluster(io, options);
    const found = await operatorDeployments(cluster, namespace);
    if (found.length === 0)
      io.note(
        `No Deployment of the operator in ${namespace}; --operator-namespace names another namespace.`,
      );
    return found.map(({ metadata, spec }) => {
      const image = spec?.template?.spec?.containers?.[0]?.image ?? "without an image";
      const label = metadata.labels?.[VERSION_LABEL] ?? "of unknown version";
      return `iam-operator ${label} (deployment/${metadata.name} in ${namespace}, ${image})`;
    });
  } catch (error) {
    if (!isKubeError(error) && !(error instanceof UsageError)) throw error;
    io.note(`The operator's version is not known: ${error.message}`);
    return [];
  }
}
