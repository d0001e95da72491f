/**
 * docs/symptoms.md, and support/symptoms.golden with the messages: what the operator and the plugin report when something
 * is broken on purpose, on a real API server. With DOCS=write in the environment both get what was reported.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { findCondition } from "../../src/api/conditions.ts";
import { nameOf } from "../../src/kubectl-iam/cluster/kinds.ts";
import { MINUTE } from "../../src/util/time.ts";
import { inWorld } from "../real-world/in-world.ts";
import type { World } from "../real-world/world.ts";
import {
  connectCluster,
  runAlone,
  servingAll,
  thenDisconnect,
} from "../tenants/support/cluster-connection.ts";
import { Plugin } from "../unit/kubectl-iam/support/plugin.ts";
import {
  grantOf,
  type Symptom,
  withClusterConnection,
  withConnection,
} from "./support/symptoms.ts";

const page = join(import.meta.dirname, "../../docs/symptoms.md");
const golden = join(import.meta.dirname, "support/symptoms.golden");

interface Report {
  readonly row: string;
  readonly messages: string;
}
const reports = new Map<Symptom, Report>();

runAlone();

/** Breaks everything side by side, and reads what is said about each once it has settled. */
async function observe(world: World, symptoms: readonly Symptom[]): Promise<void> {
  await Promise.all(symptoms.map((symptom) => symptom.arrange(world)));
  const wanted = symptoms.map(({ name, reason }) => `${name}: ${reason}`);
  let said: readonly string[] = [];
  const isSettled = async () => {
    const found = await Promise.all(symptoms.map((symptom) => conditionOf(world, symptom)));
    said = symptoms.map(({ name }, index) => `${name}: ${found[index]?.reason}`);
    return said.join() === wanted.join();
  };
  await world.until("every symptom", isSettled).catch(() => expect(said).toEqual(wanted));
  const status = await askPlugin(world);
  for (const symptom of symptoms) reports.set(symptom, await reportOf(world, symptom, status));
}

interface StatusRow {
  readonly object: string;
  readonly next: string;
}

/** What `kubectl iam status` says about everything in the namespace. */
async function askPlugin(world: World): Promise<readonly StatusRow[]> {
  const plugin = await Plugin.install(inject("controlPlane").kubeconfig, world.namespace);
  try {
    const { output } = await plugin.run(["status", "-o", "json"]);
    return (JSON.parse(output) as { readonly items: readonly StatusRow[] }).items;
  } finally {
    plugin.remove();
  }
}

async function conditionOf(world: World, { kind, name, condition = "Ready" }: Symptom) {
  return findCondition((await world.find(kind, name))?.status?.conditions, condition);
}

async function reportOf(
  world: World,
  symptom: Symptom,
  shown: readonly StatusRow[],
): Promise<Report> {
  const { broken, kind, name, condition = "Ready" } = symptom;
  const { status = "", reason = "", message = "" } = (await conditionOf(world, symptom)) ?? {};
  const object = nameOf(await world.get(kind, name));
  const next = shown.find((row) => row.object === object)?.next ?? "";
  // What the message also says about the next step is printed once.
  const rest = message.includes(next) ? message.replace(next, "").trim() : message;
  const said = `${condition}=${status} \`${reason}\`${rest === "" ? "" : `: ${rest}`}`;
  const link = `[${condition}=${status} \`${reason}\`](troubleshooting.md#${reason.toLowerCase()})`;
  return {
    row: `| ${broken} | ${link} |`,
    messages: `${broken}\n  ${object} ${timeless(world, said)}\n  next: ${timeless(world, next)}`,
  };
}

/** Without what differs from run to run. */
function timeless(world: World, text: string): string {
  return text
    .replaceAll(world.iam.url, "https://console.example.com")
    .replaceAll(world.namespace, "team-a")
    .replace(/ \((request|requestId) [^)]*\)/g, "")
    .replace(/\bsa-[0-9a-f]{8,}\b/g, "sa-…")
    .replace(/\bsak_[0-9a-zA-Z]+…?/g, "sak_…")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, "ID");
}

test(
  "whatever is broken beside a Connection says what is wrong, and what to do",
  inWorld({}, async (world) => {
    await world.serviceAccount("ci-bot");
    await world.ready("ServiceAccount", "ci-bot");
    await observe(world, withConnection);
  }),
  3 * MINUTE,
);

test(
  "so does what a grant does not allow",
  inWorld({ bare: true, config: servingAll }, (world) =>
    thenDisconnect(world, async () => {
      await connectCluster(world, [grantOf(world)]);
      await world.serviceAccount("ci-bot", {
        connectionRef: { kind: "ClusterConnection", name: world.namespace },
      });
      await world.ready("ServiceAccount", "ci-bot");
      await observe(world, withClusterConnection);
    }),
  ),
  2 * MINUTE,
);

test("the page and the golden file have it in these words", () => {
  const all = [...withConnection, ...withClusterConnection];
  expect(all.filter((symptom) => !reports.has(symptom))).toEqual([]);
  const linesOf = (part: keyof Report) =>
    `${all.map((symptom) => reports.get(symptom)?.[part]).join("\n")}\n`;
  const [head] = /^[\s\S]*\| --- \| --- \|\n/.exec(readFileSync(page, "utf8")) ?? [];
  if (head === undefined) throw new Error("the page has no table");
  const files = [
    [page, `${head}${linesOf("row")}`],
    [golden, linesOf("messages")],
  ] as const;
  if (process.env.DOCS === "write") for (const [path, text] of files) writeFileSync(path, text);
  for (const [path, text] of files) expect(readFileSync(path, "utf8")).toBe(text);
});
