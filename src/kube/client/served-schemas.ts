import { SECOND } from "../../util/time.ts";
import { callApi, type KubeApi } from "./api-call.ts";
import { isRecord } from "./status.ts";

const TIMEOUT_MS = 15 * SECOND;

/**
 * The schemas that the API server serves for the kinds of a version, by kind. Every authenticated client has permission
 * to read them. Rejects with KubeError; NotFound if the API server publishes none.
 */
export async function readServedSchemas(
  api: KubeApi,
  { group, version }: { readonly group: string; readonly version: string },
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, object>> {
  const { components } = await callApi(api, {
    attempted: `read the schemas of ${group}/${version}`,
    method: "GET",
    path: `/openapi/v3/apis/${group}/${version}`,
    timeoutMs: TIMEOUT_MS,
    signal,
  });
  const { schemas } = isRecord(components) ? components : {};
  const served = new Map<string, object>();
  for (const schema of Object.values(isRecord(schemas) ? schemas : {}))
    for (const kind of kindsOf(schema, group, version)) served.set(kind, schema as object);
  return served;
}

function kindsOf(schema: unknown, group: string, version: string): readonly string[] {
  const kinds = isRecord(schema) ? schema["x-kubernetes-group-version-kind"] : undefined;
  return (Array.isArray(kinds) ? kinds : [])
    .filter((each) => isRecord(each) && each.group === group && each.version === version)
    .map(({ kind }) => String(kind));
}
