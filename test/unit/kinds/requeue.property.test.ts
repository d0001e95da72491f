import { expect, test } from "vitest";
import { kinds } from "../../../src/kinds/kinds.ts";
import type { KindTypes } from "../../../src/reconciler/run-context.ts";
import { clusterConnectionType, connectionType } from "../../../src/resources/resource-types.ts";
import { requeued as ofApiKeys } from "./api-key/requeue.ts";
import { requeued as ofConnections } from "./connection/requeue.ts";
import { requeued as ofPolicyBindings } from "./policy-binding/requeue.ts";
import { requeued as ofQuotaExports } from "./quota-export/requeue.ts";
import { expectRequeued, type Requeued } from "./requeue.ts";
import { requeued as ofServiceAccounts } from "./service-account/requeue.ts";

const check =
  <K extends KindTypes>(requeued: Requeued<K>) =>
  () =>
    expectRequeued(requeued);
const checks: Readonly<Record<string, () => void>> = {
  ClusterConnection: check(ofConnections(clusterConnectionType)),
  Connection: check(ofConnections(connectionType)),
  ServiceAccount: check(ofServiceAccounts),
  PolicyBinding: check(ofPolicyBindings),
  ApiKey: check(ofApiKeys),
  ResourceQuotaExport: check(ofQuotaExports),
};

test("the runs of every kind are checked", () => {
  expect(Object.keys(checks)).toEqual(kinds.map(({ type }) => type.kind));
});

test.each(Object.entries(checks))("a run over a %s names the time of the next one", (_, check) => {
  check();
});
