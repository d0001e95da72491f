/** What an ApiKey learns from its ServiceAccount about its open attempt. */
import { expect, test } from "vitest";
import { explanationOf } from "../../../../src/kinds/api-key/account-records.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { object, openAttempt } from "./builders.ts";

const found = { id: "a1", keyIds: ["sak_1"] };
const recorded = { status: { explainedAttempts: [{ id: "a2" }, found] } };

function learn(attempt: object | undefined, cached: object | undefined, live?: object) {
  const asked: unknown[] = [];
  const get = (key: unknown) => {
    asked.push(key);
    return cached;
  };
  const caches = cachesWith({ serviceaccounts: { get } });
  const kube = { get: () => Promise.resolve(live) };
  const run = { caches, kube, signal: new AbortController().signal } as never;
  const explanation = explanationOf(object(attempt && ({ attempt } as never)), run);
  return explanation.then((answer) => ({ answer, asked }));
}

test("an attempt is explained by the record of its own account", async () => {
  const { answer, asked } = await learn({ ...openAttempt(1), serviceAccount: "former" }, recorded);
  expect([answer, asked]).toEqual([found, [{ namespace: "team-a", name: "former" }]]);
  expect((await learn({ ...openAttempt(1), id: "a3" }, recorded)).answer).toBeUndefined();
  expect((await learn(openAttempt(1), undefined)).answer).toBeUndefined();
  expect((await learn(undefined, recorded)).asked).toEqual([]);
});

test("the record is read live if the cache cannot hold it, and the attempt is settled", async () => {
  const large = { lacksStatus: true };
  const settled = { ...openAttempt(1), settled: true };
  expect((await learn(settled, large, recorded)).answer).toEqual(found);
  expect((await learn(openAttempt(1), large, recorded)).answer).toBeUndefined();
});
