/**
 * The operator from its sources to a rotating key on a real Kubernetes node: `npm run e2e -- [--json FILE]`.
 * `--reuse-image` takes the image of the last run, and `--keep` keeps the node's logs.
 * On a machine that cannot run containers it says why, and that is no failure.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFlags } from "../../scripts/flags.ts";
import { buildImage } from "../../scripts/image/image.ts";
import { Unable } from "../../scripts/image/tools.ts";
import { startIamServer } from "../../tools/iam-server/server.ts";
import { startNode } from "../cluster/node/node.ts";
import { startTraceReceiver } from "../support/trace-receiver.ts";
import { type Audit, compareRights, excuseFor, type Rule, type Window } from "./audit.ts";
import { createStage, RELEASE, type Stage, SYSTEM } from "./stage.ts";
import { createSteps } from "./steps.ts";
import { allCalls, tour } from "./tour.ts";
import { isFailed } from "./workloads.ts";

const values = readFlags("e2e", {
  json: { type: "string" },
  keep: { type: "boolean", default: false },
  "reuse-image": { type: "boolean", default: false },
});
const say = (line: string) => console.log(line);
const steps = createSteps(say);
const closers: (() => unknown)[] = [];
const figures: {
  calls: number;
  errors: number;
  operatorMegabytes?: readonly number[];
  audit?: Audit;
} = {
  calls: 0,
  errors: 0,
};

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-e2e-"));
  closers.push(() => rmSync(directory, { recursive: true, force: true }));
  const image = await steps.run("Build the image", () =>
    buildImage(indented, { reuse: values["reuse-image"] }),
  );
  const node = await steps.run("Start a Kubernetes node in namespaces of its own", () =>
    startNode({ onProgress: indented }),
  );
  closers.push(() => node.stop({ keep: values.keep }));
  await steps.run("Give the node the images", async () => {
    for (const tag of [image.tag, image.bases.runtime]) {
      const archive = join(directory, "image.tar");
      await image.buildah.save(tag, archive);
      await node.importImage(archive);
    }
  });
  const iam = await steps.run("Start the reference console", () =>
    startIamServer({ host: node.hostAddress }),
  );
  closers.push(() => iam.close());
  const stage = await createStage({ image, node, console: iam, directory });
  const receiver = await startTraceReceiver(node.hostAddress);
  closers.push(() => receiver.close());
  let uninstalled: Window = { from: 0, to: 0 };
  try {
    const toured = await tour(steps, stage, receiver, closers);
    uninstalled = toured.uninstalled;
    figures.operatorMegabytes = toured.operatorMegabytes;
  } finally {
    await conclude(stage, uninstalled).catch((error) => indented(`no conclusion: ${error}`));
  }
  await judge(stage);
}

async function conclude(stage: Stage, uninstalled: Window): Promise<void> {
  const calls = await allCalls(stage);
  figures.calls = calls.length;
  const failed = calls.filter(isFailed);
  figures.errors = failed.length;
  for (const call of failed.slice(0, 5)) indented(JSON.stringify(call));
  figures.audit = compareRights(
    stage.node.auditLog,
    `system:serviceaccount:${SYSTEM}:${RELEASE}`,
    await rulesOf(stage),
    uninstalled,
  );
  if (values.keep) indented(`everything of the node is in ${stage.node.directory}`);
}

async function judge(stage: Stage): Promise<void> {
  await steps.run("No call failed, and every right was enough and was used", async () => {
    const { calls, errors, audit } = figures;
    if (calls === 0 || errors > 0) throw new Error(`${errors} of ${calls} calls failed`);
    if (audit === undefined || audit.denied.length > 0)
      throw new Error(`missing rights: ${audit?.denied.join(", ")}`);
    const unknown = stage.console.requests.unknownCalls.length;
    if (unknown > 0) throw new Error(`${unknown} calls that the console does not document`);
    const idle = audit.unused.filter((right) => excuseFor(right) === undefined);
    if (idle.length > 0) throw new Error(`rights that nothing needs: ${idle.join(", ")}`);
    const excused = audit.unused.map((right) => `${right} (${excuseFor(right)})`).join("\n");
    return `${calls} calls, ${audit.used.length} rights used; not used:\n${excused}`;
  });
}

/** Rules of every role that is bound to the operator. */
async function rulesOf({ kubectl }: Stage): Promise<readonly Rule[]> {
  const kinds = "clusterroles,roles";
  const flags = ["-l", `app.kubernetes.io/instance=${RELEASE}`, "--all-namespaces", "-o=json"];
  const { items } = JSON.parse(await kubectl(["get", kinds, ...flags])) as {
    items: { metadata: { labels: Record<string, string> }; rules: Rule[] }[];
  };
  const isForPeople = (labels: Record<string, string>) =>
    Object.keys(labels).some((label) => label.startsWith("rbac.authorization.k8s.io/aggregate"));
  return items
    .filter(({ metadata }) => !isForPeople(metadata.labels))
    .flatMap(({ rules }) => rules);
}

function indented(line: string): void {
  say(`                  ${line}`);
}

function report(rest: object): void {
  if (!values.json) return;
  const { audit, ...numbers } = figures;
  const document = {
    steps: steps.all,
    ...numbers,
    rulesUsed: audit?.used ?? [],
    rulesUnused: audit?.unused ?? [],
    rulesMissing: audit?.denied ?? [],
    ...rest,
  };
  writeFileSync(values.json, `${JSON.stringify(document, null, 2)}\n`);
}

async function close(): Promise<void> {
  for (const closer of closers.splice(0).reverse()) await closer();
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void close().finally(() => process.exit(130)));

try {
  await main();
  report({ skipped: false, passed: true });
  say(`passed: ${figures.calls} calls, ${figures.errors} errors`);
} catch (error) {
  if (error instanceof Unable) {
    say(`skipped: ${error.message}`);
    report({ skipped: true, why: error.message });
  } else {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    report({ skipped: false, passed: false });
    process.exitCode = 1;
  }
} finally {
  await close();
}
process.exit();
