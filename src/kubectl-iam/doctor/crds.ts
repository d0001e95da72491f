/** Whether the CRDs in the cluster match this version. */

import { toCrd } from "../../api/crd.ts";
import { type FieldSchema, fieldPaths, fieldPathsOf } from "../../api/field-paths.ts";
import type { Kind } from "../../api/kind.ts";
import { kinds } from "../../api/kinds.ts";
import { VERSION } from "../../api/meta.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { truncateList } from "../../util/truncate-list.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type Finding, failed, ok, unknown, warning } from "./finding.ts";

const CHECK = "CRDs";
const UPGRADE = "Apply the CRDs of this version: docs/upgrade.md.";

interface CrdObject extends KubeObject {
  readonly spec?: {
    readonly versions?: readonly {
      readonly name: string;
      readonly served?: boolean;
      readonly schema?: { readonly openAPIV3Schema?: FieldSchema };
    }[];
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const crdType: ResourceType<CrdObject> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

/** Rejects with KubeError. */
export async function checkCrds({ kube }: Cluster): Promise<readonly Finding[]> {
  try {
    const problems: Finding[] = [];
    for (const kind of kinds) {
      const wanted = toCrd(kind);
      const found = await kube.get(crdType, { namespace: "", name: wanted.metadata.name });
      const problem = judge(kind, wanted.metadata.name, found);
      if (problem !== undefined) problems.push(problem);
    }
    return problems.length > 0
      ? problems
      : [ok(CHECK, `all ${kinds.length} are there and as this version has them (${VERSION})`)];
  } catch (error) {
    if (isKubeError(error, "Forbidden"))
      return [unknown(CHECK, "you do not have permission to read CRDs")];
    throw error;
  }
}

function judge(kind: Kind, name: string, found: CrdObject | undefined): Finding | undefined {
  if (found === undefined) return failed(CHECK, `${name} is not installed`, UPGRADE);
  const version = found.spec?.versions?.find((each) => each.name === VERSION);
  if (!version?.served) return failed(CHECK, `${name} does not serve ${VERSION}`, UPGRADE);
  const established = found.status?.conditions?.find(({ type }) => type === "Established");
  if (established?.status !== "True") return failed(CHECK, `${name} is not established`, UPGRADE);
  const own = fieldPathsOf(kind);
  const theirs = fieldPaths(version.schema?.openAPIV3Schema);
  const missing = own.filter((path) => !theirs.includes(path));
  const more = theirs.filter((path) => !own.includes(path));
  if (missing.length > 0)
    return failed(CHECK, `${name} is older than this plugin: it lacks ${some(missing)}`, UPGRADE);
  if (more.length > 0)
    return warning(
      CHECK,
      `${name} is newer than this plugin: it has ${some(more)}`,
      "Upgrade the plugin.",
    );
  return undefined;
}

const MOST = 3;

function some(texts: readonly string[]): string {
  return truncateList(texts, MOST);
}
