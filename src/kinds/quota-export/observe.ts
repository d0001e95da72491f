import { annotations } from "../../api/meta.ts";
import type {
  ResourceQuotaExport,
  ResourceQuotaExportSpec,
} from "../../api/resource-quota-export.ts";
import { keyOf } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import { requestToken } from "../../reconciler/rules/request.ts";
import type { ReadContext } from "../../reconciler/run-context.ts";
import { apiKeyType, serviceAccountType } from "../../resources/resource-types.ts";
import { parseDuration } from "../../util/time.ts";
import { type Credential, chooseCredential } from "./rules/credential.ts";
import type { QuotaExportKind, QuotaExportSnapshot } from "./rules/snapshot.ts";

/** Reads only the caches; the single action calls the console. */
export async function observe(
  object: ResourceQuotaExport,
  spec: ResourceQuotaExportSpec,
  { caches, connections, state }: ReadContext<QuotaExportKind>,
): Promise<QuotaExportSnapshot> {
  const { namespace } = keyOf(object);
  const credential = credentialOf(namespace, spec, caches);
  return {
    object,
    spec,
    intervalMs: parseDuration(spec.interval) ?? 0,
    connection: await connections.resolve(spec.connectionRef, namespace),
    credential,
    rights: rightsOf(credential),
    request: requestToken(object.metadata, annotations.reconcileRequestedAt),
    state,
  };
}

function credentialOf(
  namespace: string,
  { apiKeyRef, connectionRef }: ResourceQuotaExportSpec,
  caches: Context["caches"],
): Credential {
  const apiKey = apiKeyRef && caches.of(apiKeyType).get({ namespace, name: apiKeyRef.name });
  return chooseCredential(apiKeyRef?.name, connectionRef, apiKey, (name) =>
    caches.of(serviceAccountType).get({ namespace, name }),
  );
}

function rightsOf(credential: Credential): string {
  if (credential.kind !== "Key") return credential.kind;
  const { apiKey, account } = credential;
  const { state, bindings } = account.status ?? {};
  return JSON.stringify([apiKey.status?.current?.keyId, state, bindings?.policies]);
}
