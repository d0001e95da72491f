/** `diff` of an ApiKey whose Secret the API server refuses or changes: the operator does not repeat the write. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { labelSecrets, requireOfSecrets } from "../../real-world/cluster-policy.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import { type Differ, differ, object } from "./support/diff.ts";
import { openScene, type Scene } from "./support/scene.ts";

let scene: Scene;
let files: Differ;
beforeAll(async () => {
  scene = await openScene();
  files = differ(scene);
});
afterAll(() => scene.close());

const iam = (args: string) =>
  runInProcess([...args.split(" "), "--kubeconfig", scene.plugin.kubeconfig]);
const ref = { serviceAccountRef: { name: "ci-bot" } };

/**
 * Puts a policy in force, and applies ApiKeys until one reports it: a policy takes a while to be in force. It can come
 * after the rehearsal of an issue; then a key is issued.
 */
async function applyUntil(name: string, spec: object, reason: string): Promise<object> {
  const { world } = scene;
  for (let round = 0; ; round++) {
    const given = object("ApiKey", `${name}-${round}`, { ...ref, ...spec });
    await files.apply([given]);
    const conditions = async () =>
      (await world.get("ApiKey", `${name}-${round}`)).status?.conditions ?? [];
    await world.until("a report", async () =>
      (await conditions()).some(({ type, reason: told }) => type === "Ready" && told !== "Pending"),
    );
    const { attempt } = (await world.get("ApiKey", `${name}-${round}`)).status ?? {};
    const isReported = (await conditions()).some((condition) => condition.reason === reason);
    if (isReported && attempt === undefined) return given;
  }
}

test("a key whose Secret is refused is not forecast before its spec changes", async () => {
  const end = await requireOfSecrets(scene.world, "!has(object.metadata.labels.refused)");
  const given = await applyUntil(
    "refused",
    { secret: { labels: { refused: "" } } },
    "SecretRejected",
  );
  const ended = await files.diff([given]);
  expect(ended.output).toBe("");
  expect(ended.notes).toContain(
    "would not be ready and would report SecretRejected: In a dry run, the API server rejects",
  );
  expect(ended.code).toBe(1);
  const changed = { ...given, spec: { ...ref } };
  expect((await files.diff([changed])).output).toContain("issueKey");

  const accepted = object("ApiKey", "worn", ref);
  await files.apply([accepted]);
  await scene.world.ready("ApiKey", "worn");
  await files.apply([{ ...given, metadata: { name: "worn" } }]);
  await scene.world.condition("ApiKey", "worn", "IssuanceAllowed", "False", "SecretRejected");
  expect((await files.diff([accepted])).notes).not.toContain("SecretRejected");
  const requested = await iam("reconcile worn");
  expect(requested).toMatchObject({
    code: 0,
    output: expect.stringContaining("iamkey/worn IssuanceAllowed=False SecretRejected: "),
  });
  const judged = await iam("doctor worn");
  expect(judged.output).toMatch(/^warning +iamkey\/worn +SecretRejected: /m);
  await end();
});

test("a Secret that a policy changes is not forecast to be written", async () => {
  const end = await labelSecrets(scene.world, "team", "theirs");
  if (end === undefined) return;
  const given = await applyUntil("kept", { secret: { labels: { team: "ours" } } }, "SecretNotKept");
  const ended = await files.diff([given]);
  expect(ended).toMatchObject({ code: 0, output: "" });
  await end();
});
