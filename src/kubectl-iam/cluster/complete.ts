/** Names of objects for completion. */
import { namespaceType } from "../../kube/resource-types.ts";
import type { Io } from "../cli/io.ts";
import type { Options } from "../cli/options.ts";
import { openCluster } from "./cluster.ts";
import { kindNames, toText, typeOf } from "./kinds.ts";

const only = { apikey: "ApiKey", serviceaccount: "ServiceAccount" } as const;

/** Names of one kind, or `kind/name` for all kinds. Rejects with KubeError. */
export async function objectNames(
  io: Io,
  options: Options,
  what: "object" | keyof typeof only,
): Promise<readonly string[]> {
  await using cluster = await openCluster(io, options);
  const kinds = what === "object" ? kindNames : [only[what]];
  const lists = kinds.map(async (kind) => {
    const type = typeOf(kind);
    const found = await cluster.kube
      .list(type as never, type.namespaced ? { namespace: cluster.namespace } : {})
      .catch(() => []);
    return found.map(({ metadata: { name } }) =>
      what === "object" ? toText({ kind, name }) : name,
    );
  });
  return (await Promise.all(lists)).flat();
}

/** Rejects with KubeError. */
export async function namespaceNames(io: Io, options: Options): Promise<readonly string[]> {
  await using cluster = await openCluster(io, options);
  return (await cluster.kube.list(namespaceType)).map(({ metadata }) => metadata.name);
}
