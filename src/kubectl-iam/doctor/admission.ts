/** Admission webhooks and policies that see the operator's writes. */
import { GROUP } from "../../api/meta.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { unlessForbidden } from "../cluster/read.ts";
import { type Finding, ok, unknown, warning } from "./finding.ts";

const CHECK = "Admission";

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

function typeOf<T extends KubeObject>(plural: string, kind: string): ResourceType<T> {
  return { group: "admissionregistration.k8s.io", version: "v1", plural, kind, namespaced: false };
}

/** In the versions that clusters serve: none of them serves all. */
const MUTATING = ["v1", "v1beta1"].map((version) => ({
  ...typeOf<AdmissionPolicy>("mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
  version,
}));

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
export async function checkAdmission({ kube }: Cluster): Promise<readonly Finding[]> {
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
      kube.list(
        typeOf<AdmissionPolicy>("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
      ),
      ...MUTATING.map((type) => unlessAbsent(kube.list(type))),
    ]),
  );
  if (lists === undefined)
    return [unknown(CHECK, "you do not have permission to list webhooks and policies")];
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
  const isOurs = apiGroups.some((group) => group === GROUP || group === "*");
  const isSecrets =
    apiGroups.some((group) => group === "" || group === "*") &&
    resources.some((resource) => ["secrets", "*", "*/*"].includes(resource));
  return isOurs || isSecrets;
}
