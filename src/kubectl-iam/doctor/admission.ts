/** Admission webhooks and policies that see the operator's writes. */
import { kinds } from "../../api/kinds.ts";
import { GROUP } from "../../api/meta.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { unlessForbidden } from "../cluster/read.ts";
import { type Finding, ok, unknown, warning } from "./finding.ts";

const CHECK = "Admission";

const OWN = kinds.flatMap(({ plural }) => [plural, `${plural}/*`, `${plural}/status`]);

interface MatchRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly failurePolicy?: string;
    readonly rules?: readonly MatchRule[];
  }[];
}

interface AdmissionPolicy extends KubeObject {
  readonly spec?: {
    readonly matchConstraints?: { readonly resourceRules?: readonly MatchRule[] };
  };
}

/** Without a binding, a policy does nothing. */
interface AdmissionPolicyBinding extends KubeObject {
  readonly spec?: { readonly policyName?: string };
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
      ...POLICIES.map((types) => boundPolicies(kube, types)),
    ]),
  );
  if (lists === undefined)
    return [
      unknown(CHECK, "you do not have permission to list webhooks, policies and their bindings"),
    ];
  const [validating, mutating, ...policies] = lists;
  const interfering = [
    ...[...validating, ...mutating].flatMap(webhookTexts),
    ...new Set(
      policies
        .flat()
        .filter(isAboutUs)
        .map(({ metadata }) => `policy ${metadata.name}`),
    ),
  ];
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

async function boundPolicies(
  kube: Cluster["kube"],
  types: (typeof POLICIES)[number],
): Promise<readonly AdmissionPolicy[]> {
  const [policies, bindings] = await Promise.all([
    unlessAbsent(kube.list(types.policies)),
    unlessAbsent(kube.list(types.bindings)),
  ]);
  const bound = new Set(bindings.map(({ spec }) => spec?.policyName));
  return policies.filter(({ metadata }) => bound.has(metadata.name));
}

function webhookTexts({ webhooks = [] }: WebhookConfiguration): readonly string[] {
  return webhooks
    .filter(({ rules = [] }) => rules.some(matchesUs))
    .map(({ name, failurePolicy }) =>
      failurePolicy === "Ignore"
        ? `webhook ${name}`
        : `webhook ${name}, which stops writes while it is away`,
    );
}

/** The chart's own policy is expected. */
function isAboutUs({ metadata, spec }: AdmissionPolicy): boolean {
  const isOwn = metadata.labels?.["app.kubernetes.io/name"] === "iam-operator";
  return !isOwn && (spec?.matchConstraints?.resourceRules ?? []).some(matchesUs);
}

function matchesUs({ apiGroups = [], resources = [] }: MatchRule): boolean {
  const isOf = (group: string) => apiGroups.some((each) => each === group || each === "*");
  const names = (...wanted: readonly string[]) =>
    resources.some((resource) => wanted.includes(resource));
  const isSecrets = isOf("") && names("*", "*/*", "secrets");
  return isSecrets || (isOf(GROUP) && names("*", "*/*", "*/status", ...OWN));
}
