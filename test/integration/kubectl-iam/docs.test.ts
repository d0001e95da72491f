/**
 * The pages of docs/kubectl-iam, and others with commands of the plugin: their commands are run, in order, and what they print is compared.
 * With DOCS=write in the environment the pages get what was printed.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { commandsOf } from "../../unit/kubectl-iam/support/commands.ts";
import { CI_BOT_POLICIES, openScene, type Scene } from "./support/scene.ts";

const folder = join(import.meta.dirname, "../../../docs/kubectl-iam");
// The first two count the keys that other pages supersede.
const pages = [
  "../backup.md",
  "../audit.md",
  ...readdirSync(folder).filter((name) => name !== "README.md"),
  "../rotation.md",
];

let scene: Scene;
let legacyId = "";

beforeAll(async () => {
  scene = await openScene();
  const { world } = scene;
  // An account that was there before the operator, and that somebody has bound a policy to.
  const { iam } = world;
  const made = iam.world.createAccount({
    orgId: "org-1",
    projectId: "prj-1",
    name: "legacy",
    description: "made by hand",
  });
  iam.world.replaceBindings(made.tpn, ["pol-read"]);
  iam.world.issueKey(made.saId, { description: "by hand", expiresInDays: 30 });
  legacyId = made.saId;
});
// Each page finds the same objects.
afterEach(async () => {
  const { world } = scene;
  await world.patch("PolicyBinding", "ci-bot", { spec: CI_BOT_POLICIES });
  await world.ready("PolicyBinding", "ci-bot");
  if ((await world.find("ServiceAccount", "legacy")) === undefined) return;
  await world.delete("ServiceAccount", "legacy");
  await world.isGone("ServiceAccount", "legacy");
});
afterAll(() => scene.close());

/** A key has to be unnamed for half a minute before it counts as unmanaged. */
const TIMEOUT = 120_000;

// kubectl's own words are those of the newest version.
const onOldest = process.env.TEST_KUBERNETES === "oldest";

test.skipIf(onOldest).each(pages)(
  "the commands of %s print what it says",
  { timeout: TIMEOUT },
  async (page) => {
    const file = join(folder, page);
    const text = readFileSync(file, "utf8");
    for (const [, name = "", yaml = ""] of text.matchAll(/```yaml\n# (\S+\.yaml)\n([\s\S]*?)```/g))
      writeFileSync(join(scene.plugin.folder, name), yaml);
    const ran: string[] = [];
    for (const block of blocksOf(text)) ran.push(await run(block));
    const printed = blocksOf(text).map((block, index) => [block, ran[index] ?? ""] as const);
    if (process.env.DOCS === "write") {
      const next = printed.reduce((left, [block, now]) => left.replace(block, () => now), text);
      writeFileSync(file, next);
      return;
    }
    for (const [block, now] of printed) expect(timeless(now)).toBe(timeless(block));
  },
);

function blocksOf(text: string): readonly string[] {
  return [...text.matchAll(/```console\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
}

/** The block as it is when its commands are run now. */
async function run(block: string): Promise<string> {
  const parts: string[] = [];
  for (const command of commandsOf(block)) {
    const line = command.slice(2).replaceAll("<account>", legacyId);
    const { output } = await scene.plugin.shell(`{ ${line}\n} 2>&1`);
    scene.world.logs.push(output);
    parts.push(`${command}\n${asInDocs(output)}`);
  }
  return parts.join("");
}

/** With the names that a reader knows. The operator of a reader holds its Lease. */
function asInDocs(output: string): string {
  const { namespace, iam } = scene.world;
  const led = output.replaceAll(/^Whether the operator runs is unknown: .*\n/gm, "");
  return led.replaceAll(namespace, "team-a").replaceAll(iam.url, "https://console.example.com");
}

/** Without what is another one in every run. */
function timeless(text: string): string {
  return text
    .replaceAll(/\b(sa-|sak_)[0-9a-f]+\b/g, "$1ID")
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "UUID")
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, "TIME")
    .replaceAll(/\b\d+[smhd]\b/g, "SPAN")
    .replaceAll(/k8s team-a\/\S+/g, "MARKER")
    .replaceAll(/revision \d+/g, "revision N")
    .replaceAll(/[ ]{2,}/g, "  ")
    .replaceAll(/[ \t]+$/gm, "");
}
