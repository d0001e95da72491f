/** An intent that nobody could write is none: nothing may wait for it, and nothing counts it. */
import { expect, test } from "vitest";
import { recordIntent } from "../../../../src/controllers/api-key/actions/issue.ts";
import type { ApiKeyRun } from "../../../../src/controllers/api-key/actions/run.ts";
import { AttemptRegistry } from "../../../../src/controllers/api-key/attempts.ts";
import { NamespaceIssues } from "../../../../src/controllers/api-key/namespace-issues.ts";
import { WaitingLine } from "../../../../src/controllers/api-key/waiting-line.ts";
import { attemptId } from "../../../../src/controllers/marker.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { account, having, NOW, snapshot } from "./builders.ts";

const ACCOUNT = "team-a/bot";
const OWNER = "team-a/ci";
const ATTEMPT = attemptId("ci-uid", "a1");

function setUp(apply: (object: object) => Promise<object>) {
  const attempts = new AttemptRegistry(() => undefined);
  const none = { byIndex: () => [] };
  const namespaceIssues = new NamespaceIssues(cachesWith({ serviceaccounts: none, apikeys: none }));
  const line = new WaitingLine(() => undefined);
  const coordination = { line, attempts, namespaceIssues, heldPairs: new Map() };
  const run = {
    clock: { now: () => NOW, monotonic: () => 0 },
    random: { id: () => "a1", fraction: () => 0.5 },
    kube: { apply: (_: unknown, object: object) => apply(object) },
    signal: new AbortController().signal,
  } as unknown as ApiKeyRun;
  const limited = { ...account, namespaceIssues: { most: 2, count: 0 } };
  const because = { reason: "FirstKey", message: "There is no key yet." } as const;
  const action = { kind: "RecordIntent", because, knownKeyIds: [], revision: 1 } as const;
  const record = () =>
    recordIntent(having({}, snapshot({ account: limited })), action, run, coordination);
  const left = () => {
    attempts.endRun(OWNER);
    const isOpen = attempts.isOpen(ATTEMPT, "Unexplained");
    return { isOpen, count: namespaceIssues.count(account.connection, "team-a", NOW) };
  };
  return { attempts, record, left };
}

test("an intent that is written is open, and counts", async () => {
  const { attempts, record, left } = setUp(async (object) => object);
  expect((await record()).done.intentRecorded).toBe(ATTEMPT);
  expect(attempts.isBusy(ACCOUNT)).toBe(true);
  expect(left()).toEqual({ isOpen: true, count: 1 });
});

test("an intent that is not written leaves nothing open, and does not count", async () => {
  const conflict = new KubeError("Conflict", "somebody has changed it");
  const { attempts, record, left } = setUp(() => Promise.reject(conflict));
  await expect(record()).rejects.toBe(conflict);
  expect(attempts.isBusy(ACCOUNT)).toBe(false);
  expect(left()).toEqual({ isOpen: false, count: 0 });
});
