/** The commands of README and docs, read from the pages and run. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type IamServer, startIamServer } from "../../tools/iam-server/server.ts";
import type { OperatorProcess } from "../real-world/program.ts";
import { type Cluster, startCluster } from "./support/cluster.ts";
import { startDeployed } from "./support/operator.ts";
import { blocksOf, createShell } from "./support/pages.ts";

const SYSTEM = "iam-operator-system";
const root = join(import.meta.dirname, "../..");
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
/** Pages whose commands another suite runs. */
const runElsewhere: Readonly<Record<string, string>> = {
  "docs/alerts.md": "test/chart/alerts.test.ts",
  "docs/several-clusters.md": "test/integration/kubectl-iam/several-clusters.test.ts",
};
const minute = 60_000;

let cluster: Cluster;
let iam: IamServer;
let operator: OperatorProcess | undefined;
let shell: (code: string) => Promise<string>;
const done = new Set<string>();

/** Each scenario has a cluster and a console as a newcomer finds them. */
function scenario(title: string, steps: () => Promise<void>): void {
  test(
    title,
    async () => {
      cluster = await startCluster();
      iam = await startIamServer();
      shell = createShell(cluster, iam.url);
      try {
        await steps();
      } finally {
        await stopOperator();
        await iam.close();
        await cluster.stop();
      }
    },
    10 * minute,
  );
}

/** Runs the blocks under a heading (all, without one), with the operator as a process wherever it is installed. */
async function follow(page: string, heading?: string): Promise<string> {
  const blocks = blocksOf(page).filter((block) => block.heading === (heading ?? block.heading));
  expect(blocks, `${page}: ${heading}`).not.toEqual([]);
  let output = "";
  for (const { code } of blocks) {
    output += await shell(code);
    done.add(code);
    if (code.includes("helm install")) await startOperator();
    if (code.includes("helm uninstall")) await stopOperator();
  }
  return output;
}

async function startOperator(): Promise<void> {
  const kubeconfig = await cluster.kubeconfigOf(SYSTEM, "iam-operator");
  operator = await startDeployed(cluster.asAdmin, {
    namespace: SYSTEM,
    name: "iam-operator",
    kubeconfig,
  });
}

async function stopOperator(): Promise<void> {
  await operator?.stop();
  operator = undefined;
}

const ours = async () =>
  (await cluster.asAdmin(["get", "crd", "-o", "name"]))
    .split("\n")
    .filter((name) => name.endsWith(".iam-operator.io"));

describe("README", () => {
  scenario("leads to a key in two steps, and back out", async () => {
    await follow("README.md", "Install");
    const output = await follow("README.md", "Your first key");
    expect(output).toContain("apikey.iam-operator.io/ci-bot-key condition met");
    expect(await cluster.asAdmin(["get", "secret", "ci-bot-key", "-n=team-a"])).toContain("Opaque");
    await follow("docs/uninstall.md", "Remove everything");
    expect(await ours()).toEqual([]);
    const namespace = await cluster.asAdmin([
      "get",
      "namespace",
      SYSTEM,
      "-o",
      "jsonpath={.status.phase}",
    ]);
    expect(namespace).toBe("Terminating");
  });

  test("fits on a page", () => {
    const lines = readFileSync(join(root, "README.md"), "utf8").trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(90);
  });

  test("names scripts that there are", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
    for (const page of [...pages, "CONTRIBUTING.md"])
      for (const { code } of blocksOf(page)) {
        const named = [...code.matchAll(/^(?:\S+=\S+ )?npm (?:run )?([\w:-]+)/gm)].map(
          ([, name]) => name,
        );
        if (named.length > 0) done.add(code);
        expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
      }
  });
});

describe("getting started", () => {
  scenario("leads to a program that uses a key, and rotates it", async () => {
    const page = "docs/getting-started.md";
    await follow(page, "Install the chart");
    await follow(page, "Connect it to the console");
    expect(await follow(page, "Get a key")).toMatch(/^apikey\S*ci-bot-key +True +KeyDelivered/m);
    await follow(page, "Use it in a Pod");
    const before = await programOf("caller");
    expect(await follow(page, "Rotate the key")).toContain("KeyRotated");
    const after = await programOf("caller");
    for (const { output } of [before, after]) expect(output).toContain('"status":"Active"');
    expect(after.keyId).not.toBe(before.keyId);
    expect(iam.requests.unknownCalls).toEqual([]);
    await follow(page, "Clean up");
  });

  /** What the Pod's container prints first, with the files that the kubelet would mount. */
  async function programOf(pod: string): Promise<{ keyId: string; output: string }> {
    const get = async (...args: readonly string[]) =>
      JSON.parse(await cluster.asAdmin(["get", ...args, "-n=team-a", "-o=json"]));
    const { spec } = await get("pod", pod);
    const [{ command, env, volumeMounts }] = spec.containers;
    const { data } = await get("secret", spec.volumes[0].secret.secretName);
    const folder = mkdtempSync(join(tmpdir(), "getting-started-"));
    for (const [name, value] of Object.entries<string>(data))
      writeFileSync(join(folder, name), Buffer.from(value, "base64"));
    const script = command[2].replace(volumeMounts[0].mountPath, folder);
    const environment = { PATH: process.env.PATH, [env[0].name]: env[0].value };
    const output = await new Promise<string>((resolve) => {
      // Until the timeout ends its loop.
      execFile("sh", ["-c", script], { env: environment, timeout: 5_000 }, (_, printed) =>
        resolve(printed),
      );
    });
    rmSync(folder, { recursive: true });
    const [keyId = ""] = output.split("\n");
    return { keyId, output };
  }
});

describe("the pages about installing, upgrading and uninstalling", () => {
  scenario("lead through all of them", async () => {
    await follow("docs/install.md", "Install the operator");
    await follow("docs/install.md", "Connect to the console");
    await follow("docs/install.md", "Issue a key");
    await follow("docs/install.md", "Read the logs");
    await follow("docs/upgrade.md", "Upgrade");
    await follow("docs/upgrade.md", "Roll back");
    await follow("docs/uninstall.md", "Uninstall");
    expect(await cluster.asAdmin(["get", "iamkey", "-n=team-a"])).toContain("ci-bot-key");
    await cluster.asAdmin(["delete", "iam", "--all", "-n=team-a", "--wait=false"]);
    await cluster.asAdmin(["delete", "iamcconn", "--all", "--wait=false"]);
    expect(await cluster.asAdmin(["get", "iamsa", "-n=team-a"])).toContain("ci-bot");
    await follow("docs/uninstall.md", "If the operator is already gone");
    const left = await cluster.asAdmin(["get", "iam,iamcconn", "-A", "--ignore-not-found"]);
    expect(left).toBe("");
  });

  scenario("are followed by all others, whose commands work as they are", async () => {
    await follow("docs/install.md", "Install the operator");
    await follow("docs/install.md", "Connect to the console");
    await follow("docs/install.md", "Issue a key");
    await follow("docs/troubleshooting.md");
    await shell(
      "kubectl create rolebinding alice --clusterrole=edit --user=alice --namespace=team-a",
    );
    await follow("docs/least-privilege.md");
    await follow("docs/consumers.md");
    await shell(
      "printf '%s' \"$(sed -n 's/.*certificate-authority-data: //p' $KUBECONFIG | base64 -d)\" > ca.crt",
    );
    await follow("docs/reach-the-console.md");
  });

  scenario("lead from deploy/ to Helm", async () => {
    await follow("docs/install.md", "Install without Helm");
    await follow("docs/upgrade.md", "From `deploy/` to Helm");
    expect(await shell("helm list -n iam-operator-system -o json")).toContain('"deployed"');
    await follow("docs/multi-tenancy.md");
    expect(await shell("helm list -n team-a-iam -o json")).toContain('"deployed"');
  });

  test("have no command beside these", () => {
    const all = pages.filter((page) => runElsewhere[page] === undefined).flatMap(blocksOf);
    expect(all.map(({ code }) => code).filter((code) => !done.has(code))).toEqual([]);
  });
});

test("names the files of a release as the release has them", () => {
  const { version, homepage } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const release = `${homepage}/releases/download/v${version}`;
  for (const page of pages) {
    const text = readFileSync(join(root, page), "utf8");
    const named = text.match(/https:\S+\/releases\/download\/\S+/g) ?? [];
    const files = [`${release}/iam-operator-${version}.tgz`, `${release}/install.yaml`];
    expect(files, page).toEqual(expect.arrayContaining(named));
  }
});
