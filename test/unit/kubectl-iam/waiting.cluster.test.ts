/** What commands say, and end with, while the operator does not do what was asked for. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import { toMicroTime } from "../../../src/util/time.ts";
import { runInProcess } from "./support/in-process.ts";
import type { Ended } from "./support/plugin.ts";
import { openScene, type Scene } from "./support/scene.ts";

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
      /error: iamkey\/ci-bot-key was not done in time: the new key is not issued yet: .*502/,
    );
    expect(shown.output).toMatch(/^Next +The rotation requested at \S+Z is not done: .*502/m);
    expect(await iam("reconcile iamkey/ci-bot-key --no-wait")).toMatchObject({ code: 0 });
    await world.ready("ServiceAccount", "ci-bot");
    await world.ready("ApiKey", "ci-bot-key");
  });
});

describe("import", () => {
  test("of an account that does not exist fails, and prints the command that undoes it", async () => {
    const { code, notes } = await iam(
      "import sa-nowhere --name stray --connection iamconn/console",
    );
    expect(code).toBe(3);
    expect(notes).toMatch(/error: iamsa\/stray: ServiceAccountNotFound: /);
    expect(notes).toContain(`To undo the import: kubectl delete iamsa/stray -n ${world.namespace}`);
    await world.delete("ServiceAccount", "stray");
    await world.isGone("ServiceAccount", "stray");
  });
});

describe("of a suspended account", () => {
  test("revoke-access reports that nothing is unbound, and names the next command", async () => {
    const suspended = await iam("suspend iamsa/ci-bot");
    expect(suspended).toMatchObject({ code: 0 });
    expect(suspended.notes).toBe(
      "While iamsa/ci-bot is suspended, revoke-access does not unbind anything.\n",
    );
    const { code, notes } = await iam("revoke-access ci-bot --yes");
    expect(code).toBe(3);
    expect(notes).toContain(
      `error: iamsa/ci-bot: still bound: pol-read, pol-deploy; iamsa/ci-bot is suspended; kubectl iam resume iamsa/ci-bot -n ${world.namespace} lets it continue`,
    );
    expect(await iam("resume iamsa/ci-bot")).toMatchObject({ code: 0 });
    const again = await iam("revoke-access ci-bot");
    expect(again).toMatchObject({
      code: 0,
      notes: "iamsa/ci-bot: revoking was requested already.\n",
    });
    expect(again.output).toMatch(/^iamsa\/ci-bot: Access is revoked[,:] /);
    expect(await bound()).toHaveLength(0);
    expect(await iam("restore-access ci-bot --yes")).toMatchObject({ code: 0 });
  });
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
    ["rotate ci-bot-key", /was not done in time: the new key is not issued yet: /],
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
