/** Whether the Secret of an ApiKey holds the pair that its workloads need. */
import type { ApiKey } from "../../api/api-key.ts";
import type { KeyPair } from "../../console/model.ts";
import { isKubeError } from "../../kube/errors.ts";
import { secretType } from "../../kube/resource-types.ts";
import { Failure } from "../cli/errors.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { readPair } from "../console/from-cluster.ts";
import { type Finding, failed, ok, skipped } from "./finding.ts";

interface SecretFinding {
  readonly finding: Finding;
  /** The pair as a workload reads it. */
  readonly pair?: KeyPair;
}

/** Rejects with KubeError, except for a missing permission. */
export async function examineSecret(cluster: Cluster, apiKey: ApiKey): Promise<SecretFinding> {
  const { name: ownName, namespace = "" } = apiKey.metadata;
  const name = apiKey.status?.secretName ?? apiKey.spec.secret?.name ?? ownName;
  const check = `secret/${name}`;
  const keyId = apiKey.status?.current?.keyId;
  const remedy = `The operator repairs it: kubectl iam reconcile iamkey/${ownName} -n ${namespace}`;
  try {
    const secret = await cluster.kube.get(secretType, { namespace, name });
    if (secret === undefined) return { finding: failed(check, "it does not exist", remedy) };
    const pair = readPair(apiKey, secret);
    if (pair.keyId !== keyId)
      return {
        finding: failed(
          check,
          `it holds key ${pair.keyId}, and the ApiKey has ${keyId ?? "no key yet"}`,
          remedy,
        ),
      };
    return { finding: ok(check, `it holds key ${keyId}`), pair };
  } catch (error) {
    if (isKubeError(error, "Forbidden"))
      return {
        finding: skipped(check, `you do not have permission to read it (${error.message})`),
      };
    if (!(error instanceof Failure)) throw error;
    const isTemplate = error.message.startsWith("no entry");
    return {
      finding: isTemplate
        ? skipped(check, "its entries hold the pair only as part of a text")
        : failed(check, error.message, remedy),
    };
  }
}
