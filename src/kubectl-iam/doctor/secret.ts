/** Whether the Secret of an ApiKey holds the pair that its workloads need. */
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition } from "../../api/conditions.ts";
import { ISSUANCE_ALLOWED, remakeMutable } from "../../api/issuance.ts";
import { targetSecretName } from "../../api/secret-names.ts";
import type { KeyPair } from "../../console/model.ts";
import { isKubeError } from "../../kube/errors.ts";
import { type Secret, secretType } from "../../kube/resource-types.ts";
import { Failure } from "../cli/errors.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { readPair } from "../console/from-cluster.ts";
import { type Finding, failed, ok, unknown, warning } from "./finding.ts";

interface SecretFinding {
  readonly finding: Finding;
  /** The pair as a workload reads it. */
  readonly pair?: KeyPair;
}

/** Rejects with KubeError, except for a missing permission. */
export async function examineSecret(cluster: Cluster, apiKey: ApiKey): Promise<SecretFinding> {
  const { name: ownName, namespace = "" } = apiKey.metadata;
  const name = apiKey.status?.secretName ?? targetSecretName(apiKey);
  const check = `secret/${name}`;
  const keyId = apiKey.status?.current?.keyId;
  const remedy =
    conflictOf(apiKey) ??
    stopOf(apiKey) ??
    `The operator repairs it, or reports what stops it: kubectl iam reconcile iamkey/${ownName} -n ${namespace}`;
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
    return { finding: judgeImmutability(check, secret, keyId, apiKey), pair };
  } catch (error) {
    if (isKubeError(error, "Forbidden"))
      return {
        finding: unknown(check, `you do not have permission to read it (${error.message})`),
      };
    if (!(error instanceof Failure)) throw error;
    const isTemplate = error.message.startsWith("no entry");
    return {
      finding: isTemplate
        ? unknown(
            check,
            "spec.secret declares no entry that is the secret of the key alone, so the pair is not tried",
          )
        : failed(check, error.message, remedy),
    };
  }
}

/** Why the operator leaves the Secret as it is, and what to do about it, as the ApiKey reports. */
function conflictOf({ status }: ApiKey): string | undefined {
  const { reason, message } = findCondition(status?.conditions, "Ready") ?? {};
  return reason === "SecretConflict" ? message : undefined;
}

/** Why the operator issues no key to repair the Secret, as the ApiKey reports. */
function stopOf({ status }: ApiKey): string | undefined {
  const issuance = findCondition(status?.conditions, ISSUANCE_ALLOWED);
  return issuance?.status === "False" ? `No key is issued: ${issuance.message}` : undefined;
}

/** The operator reads this field only before it issues a key. */
function judgeImmutability(
  check: string,
  { immutable, metadata }: Secret,
  keyId: string | undefined,
  { metadata: { name, namespace = "" } }: ApiKey,
): Finding {
  const found = `it holds key ${keyId}`;
  if (immutable !== true) return ok(check, found);
  return warning(
    check,
    `${found}, and it is immutable: no other key can be written to it, so the key is not renewed`,
    `To create it again as it is, but without immutable, run: ${remakeMutable(namespace, metadata.name)}; then run kubectl iam reconcile iamkey/${name} -n ${namespace}`,
  );
}
