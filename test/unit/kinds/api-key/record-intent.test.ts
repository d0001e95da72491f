/** What becomes of an intent that the API server does not store, or not as an annotation. */
import { expect, test } from "vitest";
import { recordIntent } from "../../../../src/kinds/api-key/effects/issue.ts";
import { NamespaceIssues } from "../../../../src/kinds/api-key/namespace-issues.ts";
import type { ApiKeyRun } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { account, answerOf, NOW, object, snapshot } from "./builders.ts";

type Patch = { readonly metadata: object };
type MergePatch = (type: unknown, key: unknown, patch: Patch) => Promise<unknown>;
const none = { byIndex: () => [] };

function setUp(mergePatch: MergePatch) {
  const namespaceIssues = new NamespaceIssues(cachesWith({ serviceaccounts: none, apikeys: none }));
  const run = {
    clock: { now: () => NOW },
    random: { id: () => "a1" },
    kube: { mergePatch },
    writeStatus: async (snapshot: object) => ({ ...snapshot, isInStatus: true }),
  } as unknown as ApiKeyRun;
  const { finalizers: _, ...metadata } = object().metadata;
  const limited = { ...account, namespaceIssues: { most: 2, count: 0, freeAt: 0 } };
  const world = snapshot({ object: { ...object(), metadata }, account: limited });
  const because = { reason: "FirstKey", message: "There is no key yet." } as const;
  const record = (knownKeyIds: readonly string[] = []) =>
    answerOf(
      recordIntent({ namespaceIssues } as never)(world, {
        because,
        knownKeyIds,
        revision: 1,
      }),
      run,
    );
  const counted = () => namespaceIssues.count(account.connection, "team-a", { now: NOW });
  return { record, counted };
}

test("an intent that is not stored does not count", async () => {
  const conflict = new KubeError("Conflict", "somebody has changed it");
  const { record, counted } = setUp(() => Promise.reject(conflict));
  await expect(record()).rejects.toBe(conflict);
  expect(counted()).toBe(0);
});

test("an intent with too many keys for an annotation is in the status, and counts", async () => {
  const patched: string[] = [];
  const { record, counted } = setUp(async (_, __, { metadata }) => {
    patched.push(...Object.keys(metadata));
    return object();
  });
  const keyIds = Array.from({ length: 1_000 }, (_, index) => `sak_${index}`.padEnd(20, "x"));
  expect(await record(keyIds)).toMatchObject({ answer: { isInStatus: true } });
  expect(patched).toEqual(["uid", "resourceVersion", "finalizers"]);
  expect(counted()).toBe(1);
});
