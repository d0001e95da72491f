/** What commands say, and end with, while the operator does not do what was asked for. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findCondition } from "../../../src/api/conditions.ts";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import { type Secret, secretType } from "../../../src/kube/resource-types.ts";
import { toMicroTime } from "../../../src/util/time.ts";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import { requireOfSecrets } from "../../real-world/cluster-policy.ts";
import { permit } from "../../real-world/permissions.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import type { Ended } from "../../unit/kubectl-iam/support/plugin.ts";
import { CI_BOT_POLICIES, openScene, type Scene } from "./support/scene.ts";

let scene: Scene;
let world: Scene["world"];

beforeAll(async () => {
  scene = await openScene();
  ({ world } = scene);
});
afterAll(() => scene.close());

async function iam(args: string): Promise<Ended> {
  const ended = await runInProcess([...args.split(" "), "--kubeconfig", scene.plugin.kubeconfig]);
  world.logs.push(ended.output, ended.notes);
  return ended;
}

const leaseType: ResourceType = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};
const bound = async () =>
  world.iam.world.boundTo((await world.get("ServiceAccount", "ci-bot")).status?.tpn ?? "");
const consoleIsDown = () =>
  (["login", "getServiceAccount", "listServiceAccounts", "issueKey"] as const).map((operation) =>
    world.iam.faults.add({
      operation,
      fault: { kind: "Refuse", status: 502 },
      times: "always",
    }),
  );

describe("with the console down", () => {
  test("rotate and status name the cause of the delay, and rotate exits by itself", async () => {
    const faults = consoleIsDown();
    const { code, notes } = await iam("rotate ci-bot-key --timeout 4s");
    const shown = await iam("status iamkey/ci-bot-key");
    for (const fault of faults) fault.remove();
    expect(code).toBe(3);
    expect(notes).toMatch(
      /error: iamkey\/ci-bot-key was not done in time: no new key is reported yet: .*502/,
    );
    expect(shown.output).toMatch(/^Next +The rotation requested at \S+Z is not done: .*502/m);
    expect(await iam("reconcile iamkey/ci-bot-key --no-wait")).toMatchObject({ code: 0 });
    await world.ready("ServiceAccount", "ci-bot");
    await world.ready("ApiKey", "ci-bot-key");
  });
});

test("wait gives the operator time to try a corrected Secret, and ends if that is wrong too", async () => {
  await world.writeSecret("other-login", { ...DEFAULT_CREDENTIALS, password: "wrong" });
  const { spec } = await world.get("Connection", "console");
  const credentials = { login: { secretRef: { name: "other-login" } } };
  await world.apply("Connection", "other", { ...spec, credentials });
  await world.serviceAccount("other", { connectionRef: { kind: "Connection", name: "other" } });
  await world.condition("Connection", "other", "Ready", "False", "LoginFailed");
  await world.condition("ServiceAccount", "other", "Ready", "False", "ConnectionNotReady");
  expect(await iam("wait iamsa/other")).toMatchObject({
    code: 3,
    notes: expect.stringMatching(/error: iamsa\/other: iamconn\/other is not ready: LoginFailed: /),
  });
  await world.writeSecret("other-login", { ...DEFAULT_CREDENTIALS });
  expect(await iam("wait iamsa/other")).toMatchObject({ code: 0 });
});

test("reconcile names the cause of the delay, and exits by itself", async () => {
  const fault = world.iam.faults.add({
    operation: "getServiceAccount",
    fault: { kind: "Refuse", status: 500 },
    times: "always",
  });
  const { code, notes } = await iam("reconcile iamsa/ci-bot --timeout 4s");
  fault.remove();
  expect(notes).toMatch(
    /error: iamsa\/ci-bot was not done in time: .*getServiceAccount was answered with status 500/,
  );
  expect(code).toBe(3);
  await world.ready("ServiceAccount", "ci-bot");
});

test("a refused list of policies ends reconcile, and is not taken for a read", async () => {
  const fault = world.iam.faults.add({
    operation: "listBindings",
    fault: { kind: "Refuse", status: 403 },
    times: "always",
  });
  const { code, output } = await iam("reconcile iampb/ci-bot --timeout 20s");
  expect(output).toMatch(/iampb\/ci-bot Ready=False PermissionDenied: /);
  expect(code).toBe(1);
  const replaced = await iam("replace-account ci-bot --yes --timeout 20s");
  fault.remove();
  expect(replaced.notes).toMatch(/unknown what is bound to iamsa\/ci-bot .*PermissionDenied: /);
  expect(replaced.code).toBe(2);
  expect(await iam("reconcile iampb/ci-bot")).toMatchObject({ code: 0 });
});

test("expiring names a key that the console refuses to issue, and one that is replaced", async () => {
  const row = async () =>
    /^ci-bot-key .*$/m.exec((await iam("expiring --within 100d")).output)?.[0];
  const fault = world.iam.faults.add({
    operation: "issueKey",
    fault: { kind: "Refuse", status: 403 },
    times: "always",
  });
  await iam("rotate ci-bot-key --no-wait");
  await world.condition("ApiKey", "ci-bot-key", "Ready", "True", "PermissionDenied");
  expect(await row()).toMatch(/ no +PermissionDenied: .*issueKey/);
  fault.remove();
  expect(await iam("rotate ci-bot-key")).toMatchObject({ code: 0 });
  expect(await row()).toMatch(/ yes$/);

  const { keyId = "" } = (await world.get("ApiKey", "ci-bot-key")).status?.current ?? {};
  world.iam.world.deleteKey(keyId);
  expect((await iam("doctor ci-bot-key")).output).toMatch(
    /^failed +3\. Key's account +.*\n +→ The operator checks the key.*: kubectl iam reconcile iamkey\/ci-bot-key -n /m,
  );
  await iam("reconcile iamkey/ci-bot-key --no-wait");
  await world.condition("ApiKey", "ci-bot-key", "Verified", "False", "KeyRefused");
  expect((await iam("doctor ci-bot-key")).output).toMatch(
    /^failed +3\. Key's account +.*\n +→ .*The console rejects key .* it is replaced within /m,
  );
  expect(await row()).toMatch(/ yes +KeyRefused: .*it is replaced within /);
  expect(await iam("rotate ci-bot-key")).toMatchObject({ code: 0 });
});

test("rotate does not take a report from before its request for the answer", async () => {
  const fault = world.iam.faults.add({
    operation: "issueKey",
    fault: { kind: "Garble", how: "NotJson" },
    times: "always",
  });
  const ref = { serviceAccountRef: { name: "ci-bot" } };
  await world.apiKey("garbled", ref);
  await world.condition("ApiKey", "garbled", "Ready", "False", "UnreadableResponse");
  const failed = await iam("rotate garbled");
  expect(failed.notes).toMatch(/error: iamkey\/garbled: .*UnreadableResponse: /);
  expect(failed.code).toBe(3);
  fault.remove();
  const { code, output } = await iam("rotate garbled");
  const { keyId } = (await world.get("ApiKey", "garbled")).status?.current ?? {};
  expect({ code, output: output.split("\n") }).toEqual({
    code: 0,
    output: ["iamkey/garbled rotation requested", `iamkey/garbled has key ${keyId} (was none)`, ""],
  });
  await world.delete("ApiKey", "garbled");
  await world.isGone("ApiKey", "garbled");
});

test("rotate of a plan-only ApiKey reports the plan for the rotation", async () => {
  await world.annotate("ApiKey", "ci-bot-key", { "iam-operator.io/plan-only": "true" });
  await world.condition("ApiKey", "ci-bot-key", "IssuanceAllowed", "False", "PlanOnly");
  const { code, notes } = await iam("rotate ci-bot-key");
  expect(notes).toMatch(/error: iamkey\/ci-bot-key: .*PlanOnly: .* status\.plan has the \d calls /);
  expect(code).toBe(3);
  await world.annotate("ApiKey", "ci-bot-key", { "iam-operator.io/plan-only": null });
  await world.condition("ApiKey", "ci-bot-key", "IssuanceAllowed", "True", "Allowed");
});

describe("import", () => {
  test("of an account that does not exist fails, and prints the command that undoes it", async () => {
    const { code, notes } = await iam(
      "import sa-nowhere --name stray --connection iamconn/console",
    );
    expect(code).toBe(3);
    expect(notes).toMatch(/error: iamsa\/stray: ServiceAccountNotFound: /);
    expect(notes).toContain(`To undo this: kubectl delete iamsa/stray -n ${world.namespace}`);
    await world.delete("ServiceAccount", "stray");
    await world.isGone("ServiceAccount", "stray");
  });
});

describe("of a suspended account", () => {
  beforeAll(async () => {
    await world.apply("PolicyBinding", "late", { ...CI_BOT_POLICIES, policyIds: ["pol-read"] });
    await world.ready("PolicyBinding", "late");
    const suspended = await iam("suspend iamsa/ci-bot");
    expect(suspended).toMatchObject({
      code: 0,
      notes:
        "Keys of iamsa/ci-bot are still issued and rotated, because these ApiKeys are not suspended: iamkey/ci-bot-key.\n",
    });
    expect(await iam("suspend iamsa/ci-bot iamkey/ci-bot-key")).toMatchObject({
      code: 0,
      output: "iamkey/ci-bot-key suspended\n",
      notes: "iamsa/ci-bot is already suspended\n",
    });
    const resumed = await iam("resume iamkey/ci-bot-key iampb/late");
    expect(resumed.notes).toBe("iampb/late is not suspended\n");
    expect(resumed.output).toMatch(/^iamkey\/ci-bot-key resumed\niamkey\/ci-bot-key Ready=True /m);
  });
  afterAll(async () => {
    expect(await iam("resume iamsa/ci-bot")).toMatchObject({ code: 0 });
    expect(await iam("restore-access ci-bot --yes")).toMatchObject({ code: 0 });
  });

  test("rotate ends when the Secret holds the new key", async () => {
    const before = (await world.get("ApiKey", "ci-bot-key")).status?.current?.keyId;
    const { code, output, notes } = await iam("rotate ci-bot-key");
    expect({ code, notes }).toEqual({ code: 0, notes: "" });
    const now = (await world.get("ApiKey", "ci-bot-key")).status?.current?.keyId;
    expect(now).not.toBe(before);
    expect(output).toContain(`iamkey/ci-bot-key has key ${now} (was ${before})`);
  });

  test("create apikey ends when the first key is issued", async () => {
    const { code, output } = await iam("create apikey of-suspended --account ci-bot");
    expect(output).toContain("iamkey/of-suspended Ready=True KeyDelivered: ");
    expect(code).toBe(0);
  });

  test("reconcile of its PolicyBinding ends with the reason", async () => {
    const { code, output } = await iam("reconcile iampb/ci-bot --timeout 30s");
    expect(output).toMatch(/^iampb\/ci-bot Ready=(True|False) .*suspend/m);
    expect(code).toBeLessThan(2);
  });

  test("status of its deleted PolicyBinding advises to resume the account", async () => {
    await world.delete("PolicyBinding", "late");
    const next = async () => /^Next .*/m.exec((await iam("status iampb/late")).output)?.[0];
    await world.until("an advice", async () => (await next())?.includes("resume") === true);
    expect(await next()).toMatch(
      new RegExp(`kubectl iam resume iamsa/ci-bot -n ${world.namespace} resumes it`),
    );
  });

  test("revoke-access revokes access", async () => {
    const { code, output } = await iam("revoke-access ci-bot --yes");
    expect(output).toMatch(/^iamsa\/ci-bot: Access is revoked[,:] /m);
    expect(code).toBe(0);
    expect(await bound()).toHaveLength(0);
    expect(await iam("revoke-access ci-bot")).toMatchObject({
      code: 0,
      notes: "iamsa/ci-bot: revoking was requested already.\n",
    });
  });
});

describe("of an account that is inactive in the console", () => {
  const setStatus = async (status: "active" | "inactive") => {
    const { saId = "" } = (await world.get("ServiceAccount", "ci-bot")).status ?? {};
    Object.assign(world.iam.world.accounts.get(saId) ?? {}, { status });
    return iam("reconcile iamsa/ci-bot");
  };
  afterAll(async () => {
    await setStatus("active");
    expect(await iam("restore-access ci-bot --yes")).toMatchObject({ code: 0 });
  });

  test("revoke-access waits until a read confirms it", async () => {
    expect((await setStatus("inactive")).output).toContain("ServiceAccountNotActive");
    expect(await bound()).toHaveLength(2);
    world.iam.faults.add({
      operation: "syncBindings",
      fault: { kind: "Refuse", status: 503 },
      times: 1,
    });
    const { code, output, notes } = await iam("revoke-access ci-bot --yes");
    expect(notes).not.toMatch(/^error/m);
    expect(output).toMatch(/^iamsa\/ci-bot: Access is revoked, confirmed by a read/m);
    expect(code).toBe(0);
    expect(await bound()).toHaveLength(0);
  });
});

test("no rotation is requested or promised for an ApiKey that is being deleted", async () => {
  expect(await iam("create apikey leaving --account ci-bot")).toMatchObject({ code: 0 });
  expect(await iam("suspend iamkey/leaving")).toMatchObject({ code: 0 });
  await iam("rotate leaving --no-wait");
  await world.delete("ApiKey", "leaving");
  const rotate = await iam("rotate leaving");
  expect(rotate).toMatchObject({
    code: 3,
    output: "",
    notes: "error: iamkey/leaving is being deleted, so no key is issued for it.\n",
  });
  expect(await iam("resume iamkey/leaving")).toMatchObject({
    code: 0,
    notes: "iamkey/leaving is being deleted; its deletion goes on.\n",
  });
});

test("rotate ends at once if no key can be issued before a manual change", async () => {
  await world.apiKey("fixed", { serviceAccountRef: { name: "ci-bot" } });
  const { keyId } = (await world.ready("ApiKey", "fixed")).status?.current ?? {};
  const key = { namespace: world.namespace, name: "fixed" };
  await world.kube.mergePatch(secretType, key, { immutable: true });
  const stopped = {
    code: 3,
    notes: expect.stringMatching(
      /^error: iamkey\/fixed: no new key is reported yet: SecretImmutable: .*Secret fixed is immutable/m,
    ),
  };
  for (const _ of ["first", "second"])
    expect(await iam("rotate fixed --timeout 1m")).toMatchObject(stopped);
  expect((await world.get("ApiKey", "fixed")).status?.current?.keyId).toBe(keyId);
  const { conditions } = (await world.get("ApiKey", "fixed")).status ?? {};
  const { message = "" } = findCondition(conditions, "IssuanceAllowed") ?? {};
  await scene.plugin.shell(/\(umask .*\)/.exec(message)?.[0] ?? "");
  // The rotation that waited may have followed already.
  const { data, immutable } = ((await world.kube.get(secretType, key)) ?? {}) as Partial<Secret>;
  const held = Buffer.from(data?.keyId ?? "", "base64").toString();
  expect([immutable, world.iam.world.whyKeyIsRefused(held)]).toEqual([undefined, undefined]);
  expect(await iam("rotate fixed --timeout 1m")).toMatchObject({ code: 0 });
  await world.delete("ApiKey", "fixed");
  await world.isGone("ApiKey", "fixed");
});

test("rotate ends at once if a policy of the cluster refuses the Secret of a new key", async () => {
  await world.apiKey("kept", { serviceAccountRef: { name: "ci-bot" } });
  await world.ready("ApiKey", "kept");
  /** The API server applies a policy, or its end, after a moment. */
  const isForeseen = (reason: string) =>
    world.until(reason, async () => {
      await world.reconcile("ApiKey", "kept", toMicroTime(Date.now()));
      const { conditions } = (await world.get("ApiKey", "kept")).status ?? {};
      return findCondition(conditions, "IssuanceAllowed")?.reason === reason;
    });
  const endPolicy = await requireOfSecrets(world, "object.metadata.name != 'kept-next'");
  await isForeseen("SecretRejected");
  expect(await iam("rotate kept --timeout 1m")).toMatchObject({
    code: 3,
    notes: expect.stringMatching(
      /^error: iamkey\/kept: no new key is reported yet: SecretRejected: .*In a dry run, /m,
    ),
  });
  expect((await iam("status iamkey/kept")).output).toMatch(
    /^Next +Declare in spec\.secret .* without a request, the operator tries again within an hour\./m,
  );
  await endPolicy();
  await isForeseen("Allowed");
  expect(await iam("rotate kept --timeout 1m")).toMatchObject({ code: 0 });
  await world.delete("ApiKey", "kept");
  await world.isGone("ApiKey", "kept");
});

test("restore-access does not count on a PolicyBinding that is being deleted", async () => {
  expect(await iam("create serviceaccount half --connection iamconn/console")).toMatchObject({
    code: 0,
  });
  for (const policy of ["pol-read", "pol-deploy"])
    await iam(`create policybinding ${policy} --account half --policy ${policy}`);
  await world.annotate("PolicyBinding", "pol-deploy", { "iam-operator.io/plan-only": "true" });
  await world.delete("PolicyBinding", "pol-deploy");
  expect((await iam("uninstall --dry-run")).output).toMatch(
    /iampb\/pol-deploy +yes +its deletion waits until you remove the annotation/,
  );
  const { notes } = await iam("restore-access half --dry-run");
  expect(notes).toMatch(/^Declared +pol-read$/m);
  await world.annotate("PolicyBinding", "pol-deploy", { "iam-operator.io/plan-only": "false" });
  await world.isGone("PolicyBinding", "pol-deploy");
});

test("a user who may not change PolicyBindings can restore access", async () => {
  await permit(world.kube, world.namespace, "account-editor", [
    { apiGroups: ["iam-operator.io"], resources: ["*"], verbs: ["get", "list"] },
    { apiGroups: ["iam-operator.io"], resources: ["serviceaccounts"], verbs: ["patch"] },
  ]);
  await iam("revoke-access ci-bot --yes");
  expect(await bound()).toEqual([]);
  const restored = await iam("restore-access ci-bot --yes --as account-editor");
  expect(restored).toMatchObject({ code: 0 });
  expect(await bound()).toEqual(["pol-read", "pol-deploy"]);
});

test("reconcile --all requests what its user may request, and names the rest", async () => {
  await permit(world.kube, world.namespace, "key-editor", [
    { apiGroups: ["iam-operator.io"], resources: ["*"], verbs: ["get", "list"] },
    { apiGroups: ["iam-operator.io"], resources: ["serviceaccounts"], verbs: ["patch"] },
  ]);
  const { code, output, notes } = await iam("reconcile --all --as key-editor");
  expect(code).toBe(3);
  expect(output).toMatch(/^iamsa\/ci-bot reconcile requested$/m);
  expect(notes).toMatch(/^error: the API server refuses it \(.*connections\.iam-operator\.io/m);
  const one = await iam("reconcile iamconn/console --as key-editor");
  expect(one).toMatchObject({ code: 3, output: "" });
});

test("restore-access waits for a read that follows it", async () => {
  const { tpn = "" } = (await world.get("ServiceAccount", "ci-bot")).status ?? {};
  const faults = (["listBindings", "syncBindings"] as const).map((operation) =>
    world.iam.faults.add({ operation, fault: { kind: "Refuse", status: 503 }, times: "always" }),
  );
  expect(await iam("revoke-access ci-bot --yes --timeout 4s")).toMatchObject({ code: 3 });
  // The status still shows the policies as bound.
  world.iam.world.replaceBindings(tpn, []);
  const { code, output, notes } = await iam("restore-access ci-bot --yes --timeout 4s");
  for (const fault of faults) fault.remove();
  expect(notes).toMatch(
    /error: iamsa\/ci-bot was not done in time: not confirmed yet: iampb\/ci-bot/,
  );
  expect(output).not.toContain("pol-read");
  expect(code).toBe(3);
  expect(await iam("restore-access ci-bot --yes")).toMatchObject({ code: 0 });
  expect(await bound()).toEqual(["pol-read", "pol-deploy"]);
});

describe("without an operator", () => {
  const lease = (renewTime: number) => ({
    metadata: { name: "iam-operator", namespace: world.namespace },
    spec: {
      holderIdentity: "iam-operator-0",
      leaseDurationSeconds: 15,
      renewTime: toMicroTime(renewTime),
    },
  });

  beforeAll(async () => {
    await world.manager?.stop();
    await world.kube.create(leaseType, lease(Date.now() - 55_000) as KubeObject);
  });

  test.each([
    ["revoke-access ci-bot --yes", /was not done in time: still bound: pol-read, pol-deploy; /],
    ["rotate ci-bot-key", /was not done in time: no new key is reported yet: /],
    ["reconcile iamkey/ci-bot-key", /was not done in time: waiting for the operator/],
    ["suspend iamkey/ci-bot-key", /was not done in time: waiting for the operator to notice/],
    ["resume iamkey/ci-bot-key", /was not done in time: waiting for the operator to notice/],
    ["restore-access ci-bot --yes", /^error: iamsa\/ci-bot was not done in time: /m],
  ])("%s ends with 3, says what is missing, and warns that nobody leads", async (args, says) => {
    const options = `--timeout 1s --operator-namespace ${world.namespace}`;
    const { code, notes } = await iam(`${args} ${options}`);
    expect(notes).toMatch(says);
    expect(notes).toMatch(
      /warning: no replica of the operator has renewed the Lease for \d+[sm], so nothing happens until a replica holds it: kubectl iam doctor/,
    );
    expect(code).toBe(3);
  });

  test.each<[string, number]>([
    ["status", 1],
    ["status -o json", 1],
    ["status iamconn/console", 1],
    ["expiring --within 365d", 1],
    ["tree", 0],
    ["wait iamconn console", 0],
    ["uninstall --dry-run", 1],
    ["rotate ci-bot-key --no-wait", 0],
  ])("%s exits with status %d and warns", async (args, status) => {
    const { code, notes } = await iam(`${args} --operator-namespace ${world.namespace}`);
    expect(notes).toMatch(/warning: no replica of the operator has renewed the Lease for /);
    expect(code).toBe(status);
  });

  describe("and with a Secret that nobody repairs", () => {
    const key = { namespace: "", name: "ci-bot-key" };
    let before: Secret;
    beforeAll(async () => {
      key.namespace = world.namespace;
      before = (await world.kube.get(secretType, key)) as Secret;
    });
    const write = (data: Record<string, string | null>) =>
      world.kube.mergePatch(secretType, key, { data });
    const base64 = (text: string) => Buffer.from(text).toString("base64");

    test("doctor tries the pair in it", async () => {
      const { output } = await iam("doctor ci-bot-key");
      expect(output).toMatch(/^ok +secret\/ci-bot-key +it holds key sak_/m);
      expect(output).toMatch(/^ok +Pair +the console accepts the pair of key sak_/m);
    });

    test("doctor sees a Secret that takes no other key, before the operator reads it", async () => {
      await world.kube.mergePatch(secretType, key, { immutable: true });
      const { code, output } = await iam("doctor ci-bot-key");
      expect(output).toMatch(/^warning +secret\/ci-bot-key +it holds key sak_.* is immutable: /m);
      expect(output).toMatch(/^ok +Pair +/m);
      expect(code).toBe(0);
      await world.kube.delete(secretType, key, { uid: before.metadata.uid ?? "" });
      const { metadata, ...content } = before;
      const { name, namespace, labels, annotations, ownerReferences } = metadata;
      const again = { name, namespace, labels, annotations, ownerReferences };
      await world.kube.create(secretType, { ...content, metadata: again } as Secret);
    });

    test("doctor sees an edited secret", async () => {
      await write({ secret: base64("x".repeat(43)) });
      const { code, output } = await iam("doctor ci-bot-key");
      expect(output).toMatch(/^failed +Pair +.*401/m);
      expect(code).toBe(1);
    });

    test("doctor and console use the id of the entry that the workload reads", async () => {
      await write({ ...before.data, keyId: base64("sak_other") });
      const { code, output } = await iam("doctor ci-bot-key");
      expect(output).toMatch(
        /^failed +secret\/ci-bot-key +it holds key sak_other, and the ApiKey has sak_/m,
      );
      expect(code).toBe(1);
      const refused = await iam("console instances --from-secret ci-bot-key");
      expect(refused.code).toBe(3);
      expect(refused.notes).toContain("401");
    });

    test("doctor sees a Secret that lacks an entry, or is gone", async () => {
      await write({ keyId: null });
      expect((await iam("doctor ci-bot-key")).output).toMatch(
        /^failed +secret\/ci-bot-key +.*missing or empty: keyId/m,
      );
      await world.kube.delete(secretType, key, {});
      expect((await iam("status iamkey/ci-bot-key")).output).toMatch(
        /^Secret +secret\/ci-bot-key, which does not exist$/m,
      );
      expect((await iam("tree")).output).toMatch(/secret\/ci-bot-key +does not exist$/m);
      const lost = /\(iamkey\/ci-bot-key, whose secret\/ci-bot-key does not exist\)/;
      expect((await iam("revoke-access ci-bot --dry-run")).notes).toMatch(lost);
      const rest = (await iam("uninstall --dry-run")).output;
      expect(rest).toMatch(lost);
      expect(rest).not.toMatch(new RegExp(`^${world.namespace} +secret/ci-bot-key `, "m"));
      const { code, output } = await iam("doctor ci-bot-key");
      expect(output).toMatch(/^failed +secret\/ci-bot-key +it does not exist$/m);
      expect(code).toBe(1);
    });
  });

  test("--no-wait only requests the change, and names the bound policies", async () => {
    const { code, output, notes } = await iam("revoke-access ci-bot --yes --no-wait");
    expect(code).toBe(0);
    expect(output).toBe("iamsa/ci-bot access is being revoked\n");
    expect(notes).toContain(
      "Still bound until the operator has unbound them: pol-read, pol-deploy.",
    );
    expect(await bound()).toHaveLength(2);
  });

  test("--dry-run=server has the API server check the change, and changes nothing", async () => {
    const before = await world.get("ApiKey", "ci-bot-key");
    expect(await iam("rotate ci-bot-key --dry-run=server")).toMatchObject({
      code: 0,
      output: "iamkey/ci-bot-key rotation requested (server dry run)\n",
    });
    expect(await world.get("ApiKey", "ci-bot-key")).toEqual(before);
  });
});

test("diff names the file that it cannot read", async () => {
  const file = join(scene.plugin.folder, "kustomization.yaml");
  writeFileSync(file, "kind: Kustomization\nresources: []\n");
  const { code, notes } = await iam(`diff -f ${file}`);
  expect(code).toBe(2);
  expect(notes).toContain(`${file} holds a document without a kind or a name`);
  expect(notes).toContain(`give its folder with -k ${scene.plugin.folder}`);
});
