import { expect, test } from "vitest";
import { IamError } from "../../../src/console/errors.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { settleAll } from "../../../src/reconciler/settle-all.ts";

const lost = new KubeError("Timeout", "no answer");
const busy = new KubeError("RateLimited", "too many requests", { retryAt: 3_000 });
const later = new IamError("RateLimited", "429", { operation: "searchActions", retryAt: 9_000 });

test("all that succeeds is answered, in order", async () => {
  const [one, two] = await settleAll([Promise.resolve(1), Promise.resolve("two")]);
  expect([one, two]).toEqual([1, "two"]);
});

test.each([
  { name: "a pause that was asked for outlives a failure beside it", failures: [lost, busy] },
  { name: "wherever it stands", failures: [busy, lost] },
])("$name", async ({ failures }) => {
  const work = failures.map((failure) => Promise.reject(failure));
  await expect(settleAll([Promise.resolve(1), ...work])).rejects.toBe(busy);
});

test("the longest pause counts, and the first failure where none asks for one", async () => {
  const of = (...failures: readonly Error[]) =>
    settleAll(failures.map((failure) => Promise.reject(failure)));
  await expect(of(busy, later, lost)).rejects.toBe(later);
  const other = new KubeError("Conflict", "changed");
  await expect(of(lost, other)).rejects.toBe(lost);
});
