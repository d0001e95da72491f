import { expect, test } from "vitest";
import { createAccountStore, toRef } from "../../../../src/kinds/policy-binding/account-store.ts";
import { keyText } from "../../../../src/kube/resource.ts";
import { policyBindingType, serviceAccountType } from "../../../../src/resources/resource-types.ts";
import { systemClock } from "../../../../src/util/time.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";

const at = (name: string) => ({ metadata: { namespace: "team-a", name } });
const KEY = { namespace: "team-a", name: "ci-bot" };
const CI_BOT = toRef(KEY);
const binding = (policyIds: readonly string[], status = {}) => ({
  ...at("reading"),
  spec: { serviceAccountRef: { name: "ci-bot" }, policyIds },
  status,
});

function watched() {
  const kube = new MemoryCluster(systemClock);
  const store = createAccountStore(kube.openCaches());
  const woken: string[] = [];
  store.subscribe(({ key }) => void woken.push(keyText(key)));
  return { kube, store, woken };
}

test("a binding stands for its account, whether that exists or not", () => {
  const { kube, store, woken } = watched();
  kube.put(policyBindingType, binding(["p1"]));
  expect(woken).toEqual(["team-a/ci-bot"]);
  expect(store.get(KEY)).toEqual(CI_BOT);
  kube.put(serviceAccountType, { ...at("ci-bot"), spec: {} });
  expect(store.list()).toEqual([CI_BOT]);
});

test("an account without objects is not there", () => {
  const { kube, store } = watched();
  kube.put(policyBindingType, binding(["p1"]));
  kube.remove(policyBindingType, { namespace: "team-a", name: "reading" });
  expect(store.get(KEY)).toBeUndefined();
});

test("what this controller reports wakes nobody", () => {
  const { kube, woken } = watched();
  kube.put(serviceAccountType, { ...at("ci-bot"), spec: {}, status: { tpn: "t" } });
  kube.put(policyBindingType, binding(["p1"]));
  woken.length = 0;
  const bindings = { policyCount: 1 };
  kube.put(policyBindingType, binding(["p1"], { appliedPolicyIds: ["p1"] }));
  kube.put(serviceAccountType, { ...at("ci-bot"), spec: {}, status: { tpn: "t", bindings } });
  expect(woken).toEqual([]);
});

test("an account without bindings wakes nobody", () => {
  const { kube, store, woken } = watched();
  kube.put(serviceAccountType, { ...at("ci-bot"), spec: {}, status: {} });
  kube.put(serviceAccountType, { ...at("ci-bot"), spec: {}, status: { tpn: "t" } });
  expect([woken, store.list(), store.get(KEY)]).toEqual([[], [], undefined]);
});

test.each([
  ["suspended", { access: "Revoked" }, {}],
  ["with bindings on record", {}, { tpn: "t", bindings: { policyCount: 1 } }],
])("an account %s is there without a PolicyBinding", (_, spec, status) => {
  const { kube, store, woken } = watched();
  kube.put(serviceAccountType, { ...at("ci-bot"), spec, status });
  expect([store.list(), store.get(KEY)]).toEqual([[CI_BOT], CI_BOT]);
  kube.put(serviceAccountType, { ...at("ci-bot"), spec: { access: "Granted" }, status: {} });
  expect(woken).toEqual(["team-a/ci-bot", "team-a/ci-bot"]);
});

test("a change of the account's readiness wakes it", () => {
  const { kube, woken } = watched();
  kube.put(policyBindingType, binding(["p1"]));
  woken.length = 0;
  kube.put(serviceAccountType, { ...at("ci-bot"), spec: {}, status: {} });
  kube.put(serviceAccountType, { ...at("ci-bot"), spec: {}, status: { tpn: "t" } });
  expect(woken).toEqual(["team-a/ci-bot", "team-a/ci-bot"]);
});
