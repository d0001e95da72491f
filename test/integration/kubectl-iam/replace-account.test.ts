/** A key leaked: its account is replaced while a workload uses the key, on a real API server with a real console. */
import { afterEach, expect, inject, test } from "vitest";
import { annotations } from "../../../src/api/meta.ts";
import { podType } from "../../../src/kube/resource-types.ts";
import { type Clock, DAY, MINUTE, systemClock } from "../../../src/util/time.ts";
import { openWorld } from "../../real-world/in-world.ts";
import { permit } from "../../real-world/permissions.ts";
import type { World, WorldOptions } from "../../real-world/world.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import { type Ended, Plugin } from "../../unit/kubectl-iam/support/plugin.ts";
import { runPod } from "./support/run-pod.ts";

const REPLACE = "replace-account ci-bot --yes";
const POLICIES = ["pol-read", "pol-deploy"];
let world: World;
afterEach(() => world.close());

async function opened(options: WorldOptions = {}): Promise<void> {
  world = await openWorld(options);
  const metadata = { labels: { team: "a", "app.kubernetes.io/instance": "team-a" } };
  const connectionRef = { kind: "Connection", name: "console" };
  await world.apply("ServiceAccount", "ci-bot", { connectionRef, description: "CI" }, metadata);
  const ref = { serviceAccountRef: { name: "ci-bot" } };
  await world.apply("PolicyBinding", "ci-bot", { ...ref, policyIds: POLICIES.slice(0, 1) });
  await world.apply("PolicyBinding", "deploy", { ...ref, policyIds: POLICIES.slice(1) });
  for (const name of ["ci-bot", "deploy"]) await world.ready("PolicyBinding", name);
  for (const name of ["key", "batch"]) {
    await world.apiKey(name, ref);
    await world.ready("ApiKey", name);
  }
}

async function iam(
  args: string,
  interrupted = new AbortController().signal,
  clock: Clock = systemClock,
): Promise<Ended> {
  const where = ["-n", world.namespace, "--operator-namespace", world.namespace];
  const words = [...args.split(" "), ...where, "--kubeconfig", inject("controlPlane").kubeconfig];
  const ended = await runInProcess(words, {}, { interrupted, clock });
  world.logs.push(ended.output, ended.notes);
  return ended;
}

interface Pair {
  readonly keyId: string;
  readonly secret: string;
}

async function pairIn(secretName: string): Promise<Pair> {
  const { keyId = "", secret = "" } = await world.entries(secretName);
  return { keyId, secret };
}

/** The status of a call with the key. */
async function call({ keyId, secret }: Pair): Promise<number> {
  const headers = {
    "Svc-Api-Key": keyId,
    "Svc-Api-Secret": secret,
    "X-Domain-Id": "org-1",
    "X-Domain-Name": "acme",
  };
  const path = "/api/v1/container/policy/resource-quota?clusterId=7&pageSize=1";
  const answer = await fetch(new URL(path, world.iam.url), { headers });
  await answer.arrayBuffer();
  return answer.status;
}

/** Reads the Secret and calls the console, again and again; the result ends that. */
function startWorkload(secretName: string): () => Promise<{ calls: number; failed: string[] }> {
  const failed: string[] = [];
  let calls = 0;
  let isRunning = true;
  const running = (async () => {
    while (isRunning) {
      const pair = await pairIn(secretName);
      const status = await call(pair);
      calls += 1;
      if (status !== 200) failed.push(`${pair.keyId}: ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  return async () => {
    isRunning = false;
    await running;
    return { calls, failed };
  };
}

const boundTo = async (name: string) => {
  const { tpn = "" } = (await world.get("ServiceAccount", name)).status ?? {};
  return world.iam.world.boundTo(tpn).toSorted();
};
const accountOf = async (name: string) =>
  (await world.get("ApiKey", name)).status?.current?.serviceAccount;
const isRevoked = async () =>
  (await world.get("ServiceAccount", "ci-bot")).spec.access === "Revoked";

test("interrupted in each phase, it continues, and no call of a workload fails", {
  timeout: 3 * MINUTE,
}, async () => {
  await opened();
  const old = await Promise.all(["key", "batch"].map(pairIn));
  const stop = startWorkload("key");
  const reached: readonly (() => Promise<boolean>)[] = [
    async () => (await world.find("ServiceAccount", "ci-bot-2")) !== undefined,
    async () => (await world.find("PolicyBinding", "deploy-2")) !== undefined,
    async () => (await boundTo("ci-bot-2")).length === 2,
    async () => (await world.get("ApiKey", "key")).spec.serviceAccountRef.name === "ci-bot-2",
    async () => (await accountOf("key")) === "ci-bot-2",
    async () => (await accountOf("batch")) === "ci-bot-2",
    isRevoked,
  ];
  for (const isReached of reached) {
    const interruption = new AbortController();
    const run = iam(`${REPLACE} --overlap 2s`, interruption.signal);
    await world.until("the phase", isReached);
    interruption.abort();
    const { code, notes } = await run;
    // The proof may come before the interruption.
    if (isReached === isRevoked && code === 0) continue;
    expect(code, notes).toBe(3);
    expect(notes).toMatch(
      /^Left to do: .*\. kubectl iam replace-account iamsa\/ci-bot -n \S+, with the same flags, continues\.$/m,
    );
  }
  const ended = await iam(`${REPLACE} --overlap 2s`);
  expect(ended, ended.notes).toMatchObject({ code: 0 });
  expect(ended.notes).toContain(`kubectl delete iampb/ci-bot iampb/deploy -n ${world.namespace}`);
  const proof = `${ended.output.trimEnd().split("\n").at(-1)}\n`;
  expect(proof).toMatch(/^iamsa\/ci-bot: Access is revoked, confirmed by a read at /);
  expect(await iam(REPLACE)).toMatchObject({ code: 0, output: proof });
  const { calls, failed } = await stop();
  expect(failed).toEqual([]);
  expect(calls).toBeGreaterThan(20);

  for (const pair of old) expect(await call(pair)).toBe(403);
  for (const name of ["key", "batch"]) {
    expect(await call(await pairIn(name))).toBe(200);
    expect(await accountOf(name)).toBe("ci-bot-2");
  }
  expect([await boundTo("ci-bot"), await boundTo("ci-bot-2")]).toEqual([[], POLICIES.toSorted()]);
  // Each object once, and one new key for each ApiKey.
  const { accounts, keys } = world.iam.world;
  expect([accounts.size, keys.size]).toEqual([2, 4]);
  const { metadata, spec } = await world.get("ServiceAccount", "ci-bot-2");
  expect(metadata.labels).toEqual({ team: "a" });
  expect(metadata.annotations?.[annotations.replaces]).toBe("ci-bot");
  expect(spec.description).toBe("CI");
});

test("while a Pod uses the old key, it waits until the overlap has passed", {
  timeout: 3 * MINUTE,
}, async () => {
  await opened({ config: { consumers: "count" } });
  await permit(world.kube, world.namespace, "operator", [
    { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
  ]);
  await runPod(world, "batch-0", "batch");
  // The clock of the user's machine does not count.
  const ahead = { ...systemClock, now: () => systemClock.now() + 30 * DAY };
  const waiting = await iam(`${REPLACE} --timeout 20s`, undefined, ahead);
  expect(waiting.code).toBe(3);
  expect(waiting.notes).toMatch(
    /^Left to do: wait until no Pod uses an old key \(--now does not wait\); revoke the access of iamsa\/ci-bot\. /m,
  );
  expect(waiting.notes).toMatch(
    /1 of 1 Pods still use an older version .*: batch-0\. The overlap ends at /,
  );
  expect(await boundTo("ci-bot")).toEqual(POLICIES.toSorted());

  // A policy that is bound by hand during the wait is not unbound without a question.
  const handledAt = async () =>
    (await world.get("PolicyBinding", "ci-bot")).status?.lastHandledReconcileAt;
  const before = await handledAt();
  const running = iam(`${REPLACE} --timeout 2m`);
  await world.until("the read", async () => (await handledAt()) !== before);
  const { tpn = "" } = (await world.get("ServiceAccount", "ci-bot")).status ?? {};
  world.iam.world.replaceBindings(tpn, [...POLICIES, "pol-p1-member"]);
  await world.kube.delete(podType, { namespace: world.namespace, name: "batch-0" }, {});
  const stopped = await running;
  expect(stopped.notes).toContain("that no PolicyBinding declares: pol-p1-member. ");
  expect([stopped.code, await isRevoked()]).toEqual([2, false]);
  const ended = await iam(`${REPLACE} --without-foreign --timeout 2m`);
  expect(ended, ended.notes).toMatchObject({ code: 0 });
  expect(await boundTo("ci-bot")).toEqual([]);
});

test("nothing is revoked if a person moves an ApiKey back", { timeout: 3 * MINUTE }, async () => {
  await opened();
  const stop = startWorkload("key");
  const running = iam(`${REPLACE} --overlap 10m`);
  await world.until("the move", async () => (await accountOf("key")) === "ci-bot-2");
  await world.patch("ApiKey", "key", { spec: { serviceAccountRef: { name: "ci-bot" } } });
  const { code, notes } = await running;
  expect(code).toBe(3);
  expect(notes).toMatch(
    /iamkey\/key: spec\.serviceAccountRef was changed from ci-bot-2 to ci-bot; if a GitOps tool/,
  );
  expect(notes).toMatch(/^Left to do: move [^;]*iamkey\/key; .*revoke the access of /m);
  await world.until("the way back", async () => (await accountOf("key")) === "ci-bot");
  expect([await isRevoked(), await boundTo("ci-bot")]).toEqual([false, POLICIES.toSorted()]);

  // An ApiKey that is moved back and got no other key meanwhile keeps its key of the successor.
  await world.until("the move", async () => (await accountOf("batch")) === "ci-bot-2");
  const { keyId } = await pairIn("batch");
  expect(await iam("suspend iamkey/batch")).toMatchObject({ code: 0 });
  await world.patch("ApiKey", "batch", { spec: { serviceAccountRef: { name: "ci-bot" } } });
  const ended = await iam(`${REPLACE} --now`);
  expect(ended, ended.notes).toMatchObject({ code: 0 });
  expect(ended.output).toContain(`iamkey/batch has key ${keyId} of iamsa/ci-bot-2\n`);
  expect(await iam("resume iamkey/batch")).toMatchObject({ code: 0 });
  await world.reconcile("ApiKey", "batch", "after the replacement");
  expect(await pairIn("batch")).toMatchObject({ keyId });
  expect((await stop()).failed).toEqual([]);
  expect(await boundTo("ci-bot")).toEqual([]);
});

test("after revoke-access, it brings the workloads back with other keys", {
  timeout: 2 * MINUTE,
}, async () => {
  await opened();
  const old = await pairIn("key");
  expect(await iam("revoke-access ci-bot --yes")).toMatchObject({ code: 0 });
  expect(await call(old)).toBe(403);
  const ended = await iam(`${REPLACE} --now`);
  expect(ended, ended.notes).toMatchObject({ code: 0 });
  expect([await call(old), await call(await pairIn("key"))]).toEqual([403, 200]);
});

test("it replaces an account that was deleted in the console", {
  timeout: 2 * MINUTE,
}, async () => {
  await opened();
  const { saId = "" } = (await world.get("ServiceAccount", "ci-bot")).status ?? {};
  world.iam.world.deleteAccount(saId);
  await world.reconcile("ServiceAccount", "ci-bot", "after it was deleted");
  await world.condition("ServiceAccount", "ci-bot", "Ready", "False", "ServiceAccountGone");
  for (const name of ["ci-bot", "deploy"])
    await world.condition("PolicyBinding", name, "Ready", "False", "WaitingForServiceAccount");
  const gone = "the console no longer has the account, as last read";
  const shown = (await iam("status iamsa/ci-bot")).output;
  expect(shown).toMatch(new RegExp(`^Policies +none: ${gone}$`, "m"));
  expect(await iam("orphans")).toMatchObject({
    code: 0,
    notes: "No orphaned or unmanaged keys.\n",
  });
  for (const command of ["revoke-access ci-bot", "replace-account ci-bot"]) {
    const { notes } = await iam(`${command} --dry-run`);
    expect(notes).toMatch(new RegExp(`^Account +${saId}: ${gone}$`, "m"));
    expect(notes).toMatch(new RegExp(`^Unbinds +none: ${gone}$`, "m"));
  }
  const restored = await iam("restore-access ci-bot --yes");
  expect(restored.output).toMatch(/^iamsa\/ci-bot has no policy bound$/m);
  expect(restored.notes).toMatch(/^iampb\/ci-bot: pol-read stays unbound: WaitingFor/m);
  expect(restored.code).toBe(1);
  // The keys of the old account do not work, so the command does not wait for the overlap of a day.
  const ended = await iam(REPLACE);
  expect(ended, ended.notes).toMatchObject({ code: 0 });
  expect(ended.notes).toMatch(/^Waits +not for Pods: the old keys do not work any more$/m);
  expect(ended.output).toContain("iamsa/ci-bot: the console no longer has the account");
  expect([await call(await pairIn("key")), await call(await pairIn("batch"))]).toEqual([200, 200]);
});

test("a policy that no PolicyBinding declares stops it, and --with-foreign declares it", {
  timeout: 2 * MINUTE,
}, async () => {
  await opened();
  const { tpn = "" } = (await world.get("ServiceAccount", "ci-bot")).status ?? {};
  world.iam.world.replaceBindings(tpn, [...POLICIES, "pol-p1-member"]);
  const stopped = await iam(`${REPLACE} --now`);
  expect(stopped).toMatchObject({ code: 2, output: "iampb/ci-bot reconcile requested\n" });
  expect(stopped.notes).toContain("that no PolicyBinding declares: pol-p1-member. ");
  expect(await world.find("ServiceAccount", "ci-bot-2")).toBeUndefined();

  // What is bound to a suspended account is not read; a suspended ApiKey holds up its move.
  expect(await iam("suspend iamsa/ci-bot iamkey/batch")).toMatchObject({ code: 0 });
  const asked = await iam(`${REPLACE} --with-foreign --dry-run=server`);
  expect(asked, asked.notes).toMatchObject({ code: 0 });
  expect(asked.notes.match(/\S+ is (created )?suspended: .*/g)).toEqual([
    `iamkey/batch is suspended: the command continues after kubectl iam resume iamkey/batch -n ${world.namespace}`,
  ]);
  const unread = await iam(`${REPLACE} --with-foreign --now`);
  expect(unread.code).toBe(2);
  expect(unread.notes).toMatch(
    /unknown what is bound to iamsa\/ci-bot .*ServiceAccountSuspended: /,
  );
  expect(await iam("resume iamsa/ci-bot iamkey/batch")).toMatchObject({ code: 0 });
  expect(asked.output.split("\n")).toEqual([
    "iamsa/ci-bot-2 created (server dry run)",
    "iampb/ci-bot-2 created (server dry run)",
    "iampb/deploy-2 created (server dry run)",
    "iampb/ci-bot-foreign-2 created (server dry run)",
    "iamkey/batch moves to iamsa/ci-bot-2 (server dry run)",
    "iamkey/key moves to iamsa/ci-bot-2 (server dry run)",
    "iamsa/ci-bot access is being revoked (server dry run)",
    "",
  ]);
  expect(await world.find("ServiceAccount", "ci-bot-2")).toBeUndefined();

  const ended = await iam(`${REPLACE} --with-foreign --now`);
  expect(ended, ended.notes).toMatchObject({ code: 0 });
  expect([await boundTo("ci-bot"), await boundTo("ci-bot-2")]).toEqual([
    [],
    [...POLICIES, "pol-p1-member"].toSorted(),
  ]);
});

test("the three exported commits replace the account", { timeout: 3 * MINUTE }, async () => {
  await opened();
  const old = await pairIn("key");
  const { kubeconfig } = inject("controlPlane");
  const plugin = await Plugin.install(kubeconfig, world.namespace);
  const stop = startWorkload("key");
  const { output } = await iam("replace-account ci-bot --name deployer --export");
  const commits = output.split(/^(?=# Commit)/m);
  expect(commits).toHaveLength(3);
  for (const commit of commits) {
    const applied = await plugin.shell("kubectl apply -f -", { input: commit });
    expect(applied, applied.notes).toMatchObject({ code: 0 });
    const [, wait = ""] = /: (kubectl wait .*)$/m.exec(commit) ?? [];
    const waited = await plugin.shell(wait);
    expect(waited, waited.notes).toMatchObject({ code: 0 });
  }
  plugin.remove();
  expect(await accountOf("key")).toBe("deployer");
  expect((await stop()).failed).toEqual([]);
  expect([await call(old), await call(await pairIn("key"))]).toEqual([403, 200]);
  expect(await iam(REPLACE)).toMatchObject({ code: 0 });
});
