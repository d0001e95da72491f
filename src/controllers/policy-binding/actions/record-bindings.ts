import { BINDINGS_FIELD_MANAGER } from "../../../api/meta.ts";
import { writeStatus } from "../../frame/status-writer.ts";
import { recordEvent } from "../../frame/write-report.ts";
import { serviceAccountType } from "../../resource-types.ts";
import { listed } from "../rules/policy-set.ts";
import type { BindingsProgress, BindingsRun, RecordBindings } from "../rules/snapshot.ts";

/** Records on the ServiceAccount how this run leaves the console (S11), and tells of policies that others have bound. */
export async function recordBindings(
  { bindings, foundForeign }: RecordBindings,
  { snapshot, done }: BindingsProgress,
  run: BindingsRun,
): Promise<BindingsProgress> {
  const { account } = snapshot;
  if (account === undefined) throw new Error("there is no ServiceAccount to record bindings on");
  const status = { ...account.status, bindings };
  const { caches, signal } = run;
  await writeStatus(run, serviceAccountType, caches.serviceAccounts, account, status, {
    fieldManager: BINDINGS_FIELD_MANAGER,
    foreignFields: Object.keys(account.status ?? {}).filter((field) => field !== "bindings"),
    signal,
  });
  if (foundForeign.length > 0)
    recordEvent(run, account, {
      type: "Normal",
      reason: "ForeignPoliciesFound",
      action: "SyncBindings",
      note: `Somebody else bound ${listed(foundForeign)}; foreignPolicies is Keep, so they stay.`,
    });
  return { snapshot, done: { ...done, recorded: true } };
}
