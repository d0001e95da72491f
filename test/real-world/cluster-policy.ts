/** Admission policies of the cluster for the Secrets of a namespace. */
import { isKubeError } from "../../src/kube/errors.ts";
import type { KubeObject, ResourceType } from "../../src/kube/resource.ts";
import type { World } from "./world.ts";

type PolicyType = ResourceType<KubeObject & { spec: object }>;

const GROUP = "admissionregistration.k8s.io";
const validating = policyTypes("ValidatingAdmissionPolicy", "validatingadmissionpolic");
const mutating = policyTypes("MutatingAdmissionPolicy", "mutatingadmissionpolic");

interface PolicyTypes {
  readonly policy: PolicyType;
  readonly binding: PolicyType;
}

function policyTypes(kind: string, stem: string): PolicyTypes {
  const served = { group: GROUP, version: "v1", namespaced: false };
  return {
    policy: { ...served, plural: `${stem}ies`, kind },
    binding: { ...served, plural: `${stem}ybindings`, kind: `${kind}Binding` },
  };
}

/** Requires this of all Secrets of the namespace from now on. Resolves with a function that ends that. */
export async function requireOfSecrets(
  world: World,
  expression: string,
): Promise<() => Promise<void>> {
  const name = `${world.namespace}-${expression.length}`;
  const terms = { validations: [{ expression }] };
  return putInForce(world, validating, name, terms, { validationActions: ["Deny"] });
}

/**
 * Sets a label of all Secrets of the namespace from now on. Resolves with a function that ends that, or with `undefined`
 * if the API server is too old for such policies.
 */
export async function labelSecrets(
  world: World,
  label: string,
  value: string,
): Promise<(() => Promise<void>) | undefined> {
  const expression = `Object{metadata: Object.metadata{labels: {'${label}': '${value}'}}}`;
  const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }];
  const terms = { reinvocationPolicy: "Never", mutations };
  try {
    return await putInForce(world, mutating, `${world.namespace}-${label}`, terms, {});
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

async function putInForce(
  { kube, namespace }: World,
  { policy, binding }: PolicyTypes,
  name: string,
  terms: object,
  bound: object,
): Promise<() => Promise<void>> {
  const metadata = { name };
  const apiVersion = `${GROUP}/v1`;
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"] };
  const matchConstraints = {
    resourceRules: [{ ...rule, operations: ["CREATE", "UPDATE"] }],
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
  };
  await kube.create(policy, {
    apiVersion,
    kind: policy.kind,
    metadata,
    spec: { failurePolicy: "Fail", matchConstraints, ...terms },
  });
  await kube.create(binding, {
    apiVersion,
    kind: binding.kind,
    metadata,
    spec: { policyName: name, ...bound },
  });
  return async () => {
    await kube.delete(binding, { namespace: "", name }, {});
    await kube.delete(policy, { namespace: "", name }, {});
  };
}
