/** Plans ResourceQuotaExports: whether the console lists the quotas is learned by asking it, as the operator does. */
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { annotations } from "../../api/meta.ts";
import type { ResourceQuotaExport } from "../../api/resource-quota-export.ts";
import { readPair } from "../../kinds/api-key/read-pair.ts";
import { createQuotaExportReconciler } from "../../kinds/quota-export/reconciler.ts";
import { keyOf, type ObjectKey } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import type { PlannedObject } from "../../reconciler/plan/plan-object.ts";
import type { Run } from "../../runtime/result.ts";

const NO_LIMITS = { perExport: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY };

/** `isToChange` says whether an earlier plan has calls for the policies of the account, or for the ApiKey. */
export function createExportPlanner(
  context: Context,
  isToChange: (kind: "Policies" | "ApiKey", key: ObjectKey) => boolean,
) {
  const readCertainPair = (apiKey: ApiKey, signal: AbortSignal) => {
    const { namespace, name } = keyOf(apiKey);
    const account = accountInUse(apiKey) ?? apiKey.spec.serviceAccountRef.name;
    if (
      isToChange("ApiKey", { namespace, name }) ||
      isToChange("Policies", { namespace, name: account })
    )
      throw new Error(
        `what ApiKey ${name} may list is known only when its key and the policies of its account are as planned`,
      );
    return readPair(context, apiKey, signal);
  };
  const reconciler = createQuotaExportReconciler(context, readCertainPair, NO_LIMITS);
  return {
    plan: (object: ResourceQuotaExport, run: Pick<Run, "signal">): Promise<PlannedObject> =>
      reconciler.plan(listedNow(object), run),
  };
}

/** The operator lists at the next interval: the plan does not wait for it. */
function listedNow(object: ResourceQuotaExport): ResourceQuotaExport {
  const { metadata } = object;
  const requested = { ...metadata.annotations, [annotations.reconcileRequestedAt]: "diff" };
  return { ...object, metadata: { ...metadata, annotations: requested } };
}
