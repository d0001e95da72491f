/** An intent that could not be stored is none: nothing may wait for it, and nothing counts it. */
import { expect, test } from "vitest";
import { annotations, FINALIZER } from "../../../../src/api/meta.ts";
import { AttemptRegistry } from "../../../../src/controllers/api-key/attempts.ts";
import { NamespaceIssues } from "../../../../src/controllers/api-key/namespace-issues.ts";
import { report } from "../../../../src/controllers/api-key/rules/report.ts";
import type { ApiKeyKind, ApiKeyRun } from "../../../../src/controllers/api-key/rules/snapshot.ts";
import { recordIntent } from "../../../../src/controllers/api-key/steps/issue.ts";
import { WaitingLine } from "../../../../src/controllers/api-key/waiting-line.ts";
import type { KindController } from "../../../../src/controllers/frame/kind-controller.ts";
import { writeStatusNow } from "../../../../src/controllers/frame/report-run.ts";
import { attemptId } from "../../../../src/controllers/marker.ts";
import { apiKeyType } from "../../../../src/controllers/resource-types.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import { asRead } from "../../../../src/kube/resource.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { account, having, NOW, snapshot, timing } from "./builders.ts";

const ACCOUNT = "team-a/bot";
const OWNER = "team-a/ci";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;
type ApiKeyController = KindController<ApiKeyKind>;
type Patch = (metadata: Raw, object: Raw) => Promise<Raw>;

const stored: Patch = async ({ finalizers, annotations: noted }, { metadata, ...rest }) =>
  asRead(apiKeyType, {
    ...rest,
    metadata: { ...metadata, ...(finalizers && { finalizers }), annotations: noted ?? {} },
  });

function setUp(patch: Patch, knownKeyIds: readonly string[] = []) {
  const given = snapshot({ account: { ...account, namespaceIssues: { most: 2, count: 0 } } });
  const { finalizers: _, ...metadata } = given.object.metadata;
  const progress = having({}, { ...given, object: { ...given.object, metadata } });
  let object: Raw = progress.snapshot.object;
  const id = attemptId(object.metadata.uid, "a1");
  const writes: string[] = [];
  const attempts = new AttemptRegistry(() => undefined);
  const none = { byIndex: () => [] };
  const namespaceIssues = new NamespaceIssues(cachesWith({ serviceaccounts: none, apikeys: none }));
  const line = new WaitingLine(() => undefined);
  const coordination = { line, attempts, namespaceIssues, heldPairs: new Map() };
  const kind = {
    type: apiKeyType,
    report: (...[to, outcome, at]: Parameters<ApiKeyController["report"]>) =>
      report(to, outcome, at, timing),
  } as ApiKeyController;
  const run: ApiKeyRun = {
    writeStatus: (...[to, outcome]: Parameters<ApiKeyRun["writeStatus"]>) =>
      writeStatusNow(kind, to, run, outcome),
    clock: { now: () => NOW, monotonic: () => 0 },
    random: { id: () => "a1", fraction: () => 0.5 },
    kube: {
      mergePatch: async (_: unknown, __: unknown, { metadata }: Raw) => {
        writes.push(["patch", ...Object.keys(metadata)].join(" "));
        object = await patch(metadata, object);
        return object;
      },
      apply: async (_: unknown, applied: Raw) => {
        writes.push("apply status");
        return { ...object, status: applied.status };
      },
    },
    signal: new AbortController().signal,
  } as unknown as ApiKeyRun;
  const because = { reason: "FirstKey", message: "There is no key yet." } as const;
  const action = { kind: "RecordIntent", because, knownKeyIds, revision: 1 } as const;
  const record = () => recordIntent(coordination).call(action, progress, run);
  const left = () => {
    attempts.endRun(OWNER);
    const isOpen = attempts.isOpen(id, "Unexplained");
    return { isOpen, count: namespaceIssues.count(account.connection, "team-a", NOW) };
  };
  return { attempts, record, left, writes, id };
}

const ONE_WRITE = "patch uid resourceVersion finalizers annotations";
const ONLY_FINALIZER = "patch uid resourceVersion finalizers";

test("an intent is stored with the finalizer in one write; it is open, and counts", async () => {
  const { attempts, record, left, writes, id } = setUp(stored);
  const { done, snapshot } = await record();
  expect(done.intentRecorded).toBe(id);
  expect(snapshot.object.status?.attempt?.id).toBe(id);
  expect(writes).toEqual([ONE_WRITE]);
  expect(attempts.isBusy(ACCOUNT)).toBe(true);
  expect(left()).toEqual({ isOpen: true, count: 1 });
});

test("an intent that is not stored leaves nothing open, and does not count", async () => {
  const conflict = new KubeError("Conflict", "somebody has changed it");
  const { attempts, record, left, writes } = setUp(() => Promise.reject(conflict));
  await expect(record()).rejects.toBe(conflict);
  expect(writes).toEqual([ONE_WRITE]);
  expect(attempts.isBusy(ACCOUNT)).toBe(false);
  expect(left()).toEqual({ isOpen: false, count: 0 });
});

test.each<[string, Patch, readonly string[] | undefined, readonly string[]]>([
  [
    "if something takes the annotation off",
    ({ annotations: _, ...metadata }, object) => stored(metadata, object),
    undefined,
    [ONE_WRITE],
  ],
  [
    "if something changes the annotation",
    (metadata, object) =>
      stored({ ...metadata, annotations: { [annotations.intent]: "{}" } }, object),
    undefined,
    [ONE_WRITE],
  ],
  [
    "if the API server refuses the annotation",
    (metadata, object) =>
      "annotations" in metadata
        ? Promise.reject(new KubeError("Invalid", "metadata.annotations: Too long"))
        : stored(metadata, object),
    undefined,
    [ONE_WRITE, ONLY_FINALIZER],
  ],
  [
    "if the account has too many keys for it",
    stored,
    Array.from({ length: 1_000 }, (_, index) => `sak_${index}`.padEnd(20, "x")),
    [ONLY_FINALIZER],
  ],
])("an intent is in the status %s", async (_, patch, knownKeyIds, patches) => {
  const { record, left, writes, id } = setUp(patch, knownKeyIds);
  const { snapshot } = await record();
  expect(writes).toEqual([...patches, "apply status"]);
  expect(snapshot.object.status?.attempt?.id).toBe(id);
  expect(snapshot.object.metadata.finalizers).toContain(FINALIZER);
  expect(left()).toEqual({ isOpen: true, count: 1 });
});
