/** Checks everything that an installation needs. */

import { version } from "../../app/version.ts";
import { callApi } from "../../kube/client/api-call.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { Invocation } from "../cli/command.ts";
import { type Cluster, openCluster, READ_MS, scopeOf } from "../cluster/cluster.ts";
import { kindOf } from "../cluster/kinds.ts";
import { type Deployment, operatorDeployments, operatorNamespace } from "../cluster/operator.ts";
import { readWorld, unlessForbidden } from "../cluster/read.ts";
import type { Answer } from "../console/session.ts";
import { checkAdmission } from "./admission.ts";
import { checkAlerts } from "./alerts.ts";
import { checkConnections } from "./connections.ts";
import { checkCrds } from "./crds.ts";
import { type Finding, failed, ok, unknown } from "./finding.ts";
import { checkLeader } from "./leader.ts";
import { checkPermissions, leaseRules, operatorRules, readerRules } from "./permissions.ts";

export interface Diagnosis {
  readonly findings: readonly Finding[];
  /** The calls that were made to consoles. */
  readonly answers: readonly Answer[];
}

/** Rejects with KubeError if the API server cannot be reached. */
export async function examineInstallation(
  invocation: Invocation,
  cluster: Cluster,
): Promise<Diagnosis> {
  const { io, options } = invocation;
  const home = operatorNamespace(options);
  const step = <T>(text: string, work: Promise<T>): Promise<T> => {
    io.progress(text);
    return work;
  };
  const findings: Finding[] = [
    ...(await step("versions", checkVersions(cluster))),
    ...(await step("CRDs", checkCrds(cluster))),
    ...(await step("the leader", checkLeader(cluster, home))),
    await step(
      "your permissions",
      checkPermissions("Your permissions to read", cluster, readerRules, cluster.namespace),
    ),
    ...(await step(
      "the operator's permissions",
      checkOperatorPermissions(invocation, cluster, home),
    )),
    ...(await step("admission", checkAdmission(cluster))),
  ];
  try {
    const scope = scopeOf(cluster, options);
    const reading = await readWorld(cluster, scope);
    const { world, unreadable } = reading;
    if (unreadable.length > 0)
      findings.push(
        unknown(
          "Objects",
          `you do not have permission to list ${unreadable.map((kind) => kindOf(kind).plural).join(", ")}`,
        ),
      );
    const connections = await step("connections", checkConnections(invocation, cluster, world));
    findings.push(...connections.findings, ...checkAlerts(reading, scope, cluster.now()));
    return { findings, answers: connections.answers };
  } catch (error) {
    if (!isKubeError(error)) throw error;
    findings.push(failed("Objects", `they cannot be read: ${error.message}`));
    return { findings, answers: [] };
  } finally {
    io.progress(undefined);
  }
}

async function checkVersions({ api, server }: Cluster): Promise<readonly Finding[]> {
  const call = { attempted: "get version", method: "GET", path: "/version" } as const;
  const { gitVersion } = await callApi(api, { ...call, timeoutMs: READ_MS });
  return [ok("Versions", `kubectl-iam ${version}; Kubernetes ${String(gitVersion)} at ${server}`)];
}

async function checkOperatorPermissions(
  { io, options }: Invocation,
  cluster: Cluster,
  home: string,
): Promise<readonly Finding[]> {
  const check = "Operator's permissions";
  const found = await unlessForbidden(operatorDeployments(cluster, home));
  const user = options.operatorUser ?? operatorUser(found?.[0], home);
  if (user === undefined) {
    const why =
      found === undefined
        ? `you do not have permission to list the Deployments in ${home}`
        : `no Deployment of the operator is seen in ${home}`;
    return [unknown(check, `${why}: name the operator's user by --operator-user`)];
  }
  await using operator = await openCluster(io, { ...options, as: user });
  return [
    await checkPermissions(check, operator, operatorRules, cluster.namespace),
    await checkPermissions("… on its Lease", operator, leaseRules, home),
  ];
}

function operatorUser(deployment: Deployment | undefined, namespace: string): string | undefined {
  const name = deployment?.spec?.template?.spec?.serviceAccountName;
  return name === undefined ? undefined : `system:serviceaccount:${namespace}:${name}`;
}
