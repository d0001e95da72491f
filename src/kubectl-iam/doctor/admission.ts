/** Admission webhooks and policies that see the operator's writes. */
import { type KindName, kinds } from "../../api/kinds.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { namespaceType } from "../../kube/resource-types.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { typeOf as typeOfKind } from "../cluster/kinds.ts";
import { unlessForbidden } from "../cluster/read.ts";
import {
  canSeeWrite,
  type MatchResources,
  type MatchRule,
  type WrittenNamespaces,
} from "./admission-scope.ts";
import { type Finding, ok, unknown, warning } from "./finding.ts";

const CHECK = "Admission";

interface Webhook extends Omit<MatchResources, "resourceRules"> {
  readonly name: string;
  readonly failurePolicy?: string;
  readonly rules?: readonly MatchRule[];
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly Webhook[];
}

interface AdmissionPolicy extends KubeObject {
  readonly spec?: { readonly matchConstraints?: MatchResources };
}

/** Without a binding, a policy does nothing. */
interface AdmissionPolicyBinding extends KubeObject {
  readonly spec?: { readonly policyName?: string; readonly matchResources?: MatchResources };
}

function typeOf<T extends KubeObject>(plural: string, kind: string): ResourceType<T> {
  return { group: "admissionregistration.k8s.io", version: "v1", plural, kind, namespaced: false };
}

/** A type of policies, with the type of their bindings. */
function policiesOf(kind: string, stem: string, version = "v1") {
  return {
    policies: { ...typeOf<AdmissionPolicy>(`${stem}policies`, `${kind}Policy`), version },
    bindings: {
      ...typeOf<AdmissionPolicyBinding>(`${stem}policybindings`, `${kind}PolicyBinding`),
      version,
    },
  };
}

/** MutatingAdmissionPolicy in the versions that clusters serve: none of them serves all. */
const POLICIES = [
  policiesOf("ValidatingAdmission", "validatingadmission"),
  policiesOf("MutatingAdmission", "mutatingadmission"),
  policiesOf("MutatingAdmission", "mutatingadmission", "v1beta1"),
];

/** Empty if the API server does not serve the type. */
async function unlessAbsent<T>(reading: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await reading;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return [];
    throw error;
  }
}

/** Rejects with KubeError. */
export async function checkAdmission({ kube }: Pick<Cluster, "kube">): Promise<readonly Finding[]> {
  const lists = await unlessForbidden(
    Promise.all([
      kube.list(
        typeOf<WebhookConfiguration>(
          "validatingwebhookconfigurations",
          "ValidatingWebhookConfiguration",
        ),
      ),
      kube.list(
        typeOf<WebhookConfiguration>(
          "mutatingwebhookconfigurations",
          "MutatingWebhookConfiguration",
        ),
      ),
      ...POLICIES.map((types) => readPolicies(kube, types)),
    ]),
  );
  if (lists === undefined)
    return [
      unknown(CHECK, "you do not have permission to list webhooks, policies and their bindings"),
    ];
  const [validating, mutating, ...policies] = lists;
  const thatSee = (namespaces: WrittenNamespaces) => [
    ...[...validating, ...mutating].flatMap((each) => webhookTexts(each, namespaces)),
    ...new Set(
      policies
        .flat()
        .filter((each) => isAboutUs(each, namespaces))
        .map(({ policy }) => `policy ${policy.metadata.name}`),
    ),
  ];
  // Most clusters have none, wherever the objects are.
  const interfering = thatSee(undefined).length > 0 ? thatSee(await writtenNamespaces(kube)) : [];
  if (interfering.length === 0)
    return [ok(CHECK, "no webhook or admission policy applies to the operator's writes")];
  return [
    warning(
      CHECK,
      `these apply to the operator's writes: ${interfering.join("; ")}`,
      "If writes are refused, the message in the conditions names the webhook or policy.",
    ),
  ];
}

interface BoundPolicy {
  readonly policy: AdmissionPolicy;
  readonly bindings: readonly AdmissionPolicyBinding[];
}

async function readPolicies(
  kube: Cluster["kube"],
  types: (typeof POLICIES)[number],
): Promise<readonly BoundPolicy[]> {
  const [policies, bindings] = await Promise.all([
    unlessAbsent(kube.list(types.policies)),
    unlessAbsent(kube.list(types.bindings)),
  ]);
  return policies.map((policy) => ({
    policy,
    bindings: bindings.filter(({ spec }) => spec?.policyName === policy.metadata.name),
  }));
}

/** Where the operator has objects; not known if there are none. */
async function writtenNamespaces(kube: Cluster["kube"]): Promise<WrittenNamespaces> {
  const lists = await unlessForbidden(
    Promise.all([
      kube.list(namespaceType),
      ...kinds
        .map(({ kind }) => typeOfKind(kind as KindName))
        .filter(({ namespaced }) => namespaced)
        .map((type) => kube.list<KubeObject>(type, { metadataOnly: true })),
    ]),
  );
  if (lists === undefined) return undefined;
  const [namespaces, ...objects] = lists;
  const used = new Set(objects.flat().map(({ metadata }) => metadata.namespace));
  if (used.size === 0) return undefined;
  return namespaces
    .filter(({ metadata }) => used.has(metadata.name))
    .map(({ metadata }) => metadata.labels ?? {});
}

function webhookTexts(
  { webhooks = [] }: WebhookConfiguration,
  namespaces: WrittenNamespaces,
): readonly string[] {
  return webhooks
    .filter(({ rules = [], ...scope }) =>
      canSeeWrite([{ ...scope, resourceRules: rules }], namespaces),
    )
    .map(({ name, failurePolicy }) =>
      failurePolicy === "Ignore"
        ? `webhook ${name}`
        : `webhook ${name}, which stops writes while it is away`,
    );
}

/** The chart's own policy is expected. */
function isAboutUs(
  { policy: { metadata, spec }, bindings }: BoundPolicy,
  namespaces: WrittenNamespaces,
): boolean {
  const isOwn = metadata.labels?.["app.kubernetes.io/name"] === "iam-operator";
  const { resourceRules = [], ...scope } = spec?.matchConstraints ?? {};
  return (
    !isOwn &&
    bindings.some((binding) =>
      canSeeWrite([{ ...scope, resourceRules }, binding.spec?.matchResources ?? {}], namespaces),
    )
  );
}
