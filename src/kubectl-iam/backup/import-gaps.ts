/** Finds ClusterConnections that do not let the namespaces of restored accounts import them. */
import type { ClusterConnection } from "../../api/connection.ts";
import { keyOf } from "../../kube/resource.ts";
import { namespaceType } from "../../kube/resource-types.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { FileObject } from "../cluster/given-objects.ts";
import { typeOf } from "../cluster/kinds.ts";
import { unlessForbidden } from "../cluster/read.ts";
import { readAll } from "../cluster/read-all.ts";
import { refsOf } from "../cluster/relations.ts";
import { lackImports, type NamespaceLabels } from "./imports.ts";
import { NAME_LABEL } from "./manifest.ts";

export interface ImportGap {
  readonly connection: ClusterConnection;
  readonly namespaces: readonly string[];
}

/**
 * The connections and namespaces of the cluster count, then those of the backup. Leaves out what cannot be read. Rejects
 * with KubeError.
 */
export async function findImportGaps(
  cluster: Cluster,
  objects: readonly FileObject[],
): Promise<readonly ImportGap[]> {
  const found = await Promise.all(
    [...namespacesByConnection(await importingOf(cluster, objects))].map(
      async ([name, namespaces]) => {
        const key = { namespace: "", name };
        const stored = await unlessForbidden(cluster.kube.get(typeOf("ClusterConnection"), key));
        const given = objects.find(isNamed("ClusterConnection", name));
        const connection = stored ?? (given as ClusterConnection | undefined);
        if (connection === undefined) return [];
        const labelled = [...namespaces].map((each) => labelsOf(cluster, each, objects));
        const lacking = lackImports(connection.spec.grants, await Promise.all(labelled));
        return lacking.length === 0 ? [] : [{ connection, namespaces: lacking }];
      },
    ),
  );
  return found.flat();
}

/** The ServiceAccounts that import their accounts: a stored one whose account was created here needs no grant for that. */
async function importingOf(
  { kube }: Cluster,
  objects: readonly FileObject[],
): Promise<readonly FileObject[]> {
  const accounts = objects.filter(({ kind }) => kind === "ServiceAccount");
  const stored = await readAll(accounts, (account) =>
    kube.get(typeOf("ServiceAccount"), keyOf(account)),
  );
  return accounts.filter((_, index) => {
    const found = stored[index];
    return found === undefined || found.spec.saId !== undefined;
  });
}

function namespacesByConnection(
  accounts: readonly FileObject[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const account of accounts) {
    const { kind = "ClusterConnection", name = "default" } = refsOf(account).connectionRef ?? {};
    if (kind !== "ClusterConnection") continue;
    const { namespace = "" } = account.metadata;
    found.set(name, (found.get(name) ?? new Set()).add(namespace));
  }
  return found;
}

async function labelsOf(
  { kube }: Cluster,
  name: string,
  objects: readonly FileObject[],
): Promise<NamespaceLabels> {
  const stored = await unlessForbidden(kube.get(namespaceType, { namespace: "", name }));
  const known = stored ?? objects.find(isNamed("Namespace", name));
  return { name, labels: known && { ...known.metadata.labels, [NAME_LABEL]: name } };
}

function isNamed(kind: string, name: string): (object: FileObject) => boolean {
  return (object) => object.kind === kind && object.metadata.name === name;
}
