/**
 * The operator at work on this machine: a real API server, the reference console, the operator, and the manifests of
 * deploy/examples.
 *
 *   --once              ends after the tour; otherwise everything stays up to play with, until Ctrl-C
 *   --keep              leaves everything running when the command ends; docs/kubectl-iam/tour.md plays with it
 *   --kubeconfig FILE   uses a cluster that you have, such as kind's, and leaves it as it was
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DEFAULT_CREDENTIALS } from "../tools/iam-server/seed.ts";
import { type IamServer, startIamServer } from "../tools/iam-server/server.ts";
import { NAMESPACE, SYSTEM } from "./demo/install.ts";
import { KEPT, keepRunning, READY } from "./demo/keep.ts";
import type { Kubectl } from "./demo/kubectl.ts";
import { type OperatorProcess, startOperator } from "./demo/operator-process.ts";
import { PATIENCE_S } from "./demo/patience.ts";
import { givenPlace, ownPlace, type Place } from "./demo/place.ts";
import { linkPrograms } from "./demo/programs.ts";
import { createSteps, type Steps } from "./demo/steps.ts";
import { readFlags } from "./flags.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Stage {
  readonly place: Place;
  readonly console: IamServer;
  readonly operator: OperatorProcess;
  readonly kubectl: Kubectl;
}

async function main(): Promise<void> {
  const values = readFlags("demo", {
    once: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    kubeconfig: { type: "string" },
  });
  const kept = process.env[KEPT];
  if (values.keep && kept === undefined) {
    await keepRunning(fileURLToPath(import.meta.url), process.argv.slice(2));
    return;
  }
  console.log(
    `Issues a key into a Secret, uses it, and rotates it: about half a minute. ${values.keep ? "Everything is left running." : "Nothing stays behind."}`,
  );
  const steps = createSteps((line) => console.log(line));
  const directory = await mkdtemp(join(tmpdir(), "iam-operator-demo-"));
  const closers: (() => Promise<unknown>)[] = [];
  const stopping = untilSignal();
  try {
    const stage = await setUp(steps, directory, closers, values);
    await tour(steps, stage);
    steps.summary();
    if (!values.once) {
      if (values.keep)
        await explainKept(stage, linkPrograms(directory, ROOT, stage.place.program), kept);
      else explain(stage);
      await stopping;
      console.log("\nCleaning up …");
    }
  } finally {
    for (const close of closers.reverse()) await close();
    await rm(directory, { recursive: true, force: true });
    if (kept !== undefined) await rm(dirname(kept), { recursive: true, force: true });
  }
}

async function setUp(
  steps: Steps,
  directory: string,
  closers: (() => Promise<unknown>)[],
  { kubeconfig }: { readonly kubeconfig?: string },
): Promise<Stage> {
  const place =
    kubeconfig === undefined
      ? await ownPlace(steps, ROOT, directory)
      : await givenPlace(steps, ROOT, directory, kubeconfig);
  closers.push(() => place.remove());
  const console_ = await steps.run("Start the reference IAM console", () => startIamServer());
  closers.push(() => console_.close());
  const operator = await steps.run("Start the operator", async () =>
    startOperator({
      kubeconfig: place.operatorKubeconfig,
      logFile: join(directory, "operator.log"),
      metricsPort: await freePort(),
      probePort: await freePort(),
      // For a Connection to the console on this machine.
      args: ["--connection-networks=127.0.0.1"],
    }),
  );
  closers.push(() => operator.stop());
  closers.push(() => place.removeObjects());
  return { place, console: console_, operator, kubectl: place.kubectl };
}

async function tour(steps: Steps, { console: iam, operator, kubectl }: Stage): Promise<void> {
  await steps.run("Store the console's credentials and apply deploy/examples", async () => {
    const { username, password, domain } = DEFAULT_CREDENTIALS;
    await kubectl([
      "create",
      "secret",
      "generic",
      "console-login",
      `--namespace=${SYSTEM}`,
      `--from-literal=username=${username}`,
      `--from-literal=password=${password}`,
      `--from-literal=domain=${domain}`,
    ]);
    for (const name of [
      "namespace",
      "cluster-connection",
      "service-account",
      "policy-binding",
      "api-key",
      "resource-quota-export",
    ])
      await kubectl(["apply", "-f", "-"], await example(name, iam.url));
  });
  await steps.run("Wait until every object is ready", () => allReady(kubectl));
  steps.show("kubectl get iamcconn", await kubectl(["get", "iamcconn"]));
  steps.show("kubectl get iam -A", await kubectl(["get", "iam", "-A"]));
  steps.show(
    "The Secret that workloads mount (the values stay where they are)",
    await kubectl(["describe", "secret", "ci-bot-key", "-n", NAMESPACE]),
  );
  await steps.run("Use the key as a workload would: list the quotas of cluster 7", async () => {
    const answer = await useKey(kubectl, iam.url);
    steps.show("GET /api/v1/container/policy/resource-quota", answer);
  });

  const before = await currentKey(kubectl);
  const after = await steps.run("Rotate the key on request", async () => {
    await kubectl([
      "annotate",
      "iamkey",
      "ci-bot-key",
      `--namespace=${NAMESPACE}`,
      "--overwrite",
      `iam-operator.io/rotate-requested-at=${new Date().toISOString()}`,
    ]);
    return keyOtherThan(before, kubectl);
  });
  steps.show("Key in the Secret", `before  ${before}\nafter   ${after}`);
  steps.show("kubectl get iamkey -n team-a", await kubectl(["get", "iamkey", "-n", NAMESPACE]));
  steps.show("Events of the key", await keyEvents(kubectl));
  steps.show("Metrics (excerpt)", await metricsExcerpt(operator.metricsUrl));
}

async function example(name: string, consoleUrl: string): Promise<string> {
  const text = await readFile(join(ROOT, "deploy/examples", `${name}.yaml`), "utf8");
  return text.replace(
    "baseURL: https://console.example.com",
    `baseURL: ${consoleUrl}\n  insecureHTTP: true`,
  );
}

async function allReady(kubectl: Kubectl): Promise<void> {
  await kubectl(["wait", "--for=condition=Ready", "iamcconn/default", `--timeout=${PATIENCE_S}s`]);
  for (const kind of ["iamsa", "iampb", "iamkey", "iamrq"])
    await kubectl([
      "wait",
      "--for=condition=Ready",
      kind,
      "--all",
      `-n=${NAMESPACE}`,
      `--timeout=${PATIENCE_S}s`,
    ]);
}

function currentKey(kubectl: Kubectl): Promise<string> {
  return secretValue(kubectl, "keyId");
}

async function secretValue(kubectl: Kubectl, entry: string): Promise<string> {
  const path = `jsonpath={.data.${entry}}`;
  const text = await kubectl(["get", "secret", "ci-bot-key", "-n", NAMESPACE, "-o", path]);
  return Buffer.from(text, "base64").toString();
}

async function keyOtherThan(old: string, kubectl: Kubectl): Promise<string> {
  const deadline = performance.now() + PATIENCE_S * 1_000;
  while (performance.now() < deadline) {
    const now = await currentKey(kubectl);
    if (now !== old) return now;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`the key was not rotated within ${PATIENCE_S} s`);
}

async function useKey(kubectl: Kubectl, consoleUrl: string): Promise<string> {
  const response = await fetch(
    `${consoleUrl}/api/v1/container/policy/resource-quota?clusterId=7&pageSize=1`,
    {
      headers: {
        "Svc-Api-Key": await secretValue(kubectl, "keyId"),
        "Svc-Api-Secret": await secretValue(kubectl, "secret"),
        "X-Domain-Id": "org-1",
        "X-Domain-Name": "acme",
      },
    },
  );
  return `${response.status} ${response.statusText}: the console accepts the key${
    response.status === 403 ? ", and says that its policies do not allow this call" : ""
  }`;
}

async function keyEvents(kubectl: Kubectl): Promise<string> {
  return kubectl([
    "get",
    "events.events.k8s.io",
    `--namespace=${NAMESPACE}`,
    "--field-selector=regarding.name=ci-bot-key",
    "--sort-by=.metadata.creationTimestamp",
    "-o=custom-columns=REASON:.reason,NOTE:.note",
  ]);
}

async function metricsExcerpt(url: string): Promise<string> {
  const text = await (await fetch(url)).text();
  const wanted =
    /^iam_operator_(resourcequota\{.*cpu|resourcequota_export_total|apikey_ready|apikey_issues_total|object_ready)/;
  return text
    .split("\n")
    .filter((line) => wanted.test(line))
    .slice(0, 24)
    .join("\n");
}

function explain({ place, console: iam, operator }: Stage): void {
  console.log(`
Everything stays up. Things to try:

  export KUBECONFIG=${place.kubeconfig}
  alias kubectl=${place.program}
  kubectl get iam -A
  npm run kubectl-iam -- status -A                     # the plugin "kubectl iam", from this checkout
  kubectl describe iamkey ci-bot-key -n ${NAMESPACE}
  kubectl delete secret ci-bot-key -n ${NAMESPACE}     # a new key within the check interval, or at once:
  kubectl annotate iamkey ci-bot-key -n ${NAMESPACE} iam-operator.io/reconcile-requested-at="$(date)" --overwrite
  kubectl patch iamsa ci-bot -n ${NAMESPACE} --type=merge -p '{"spec":{"access":"Revoked"}}'

  console   ${iam.url}   (login ${DEFAULT_CREDENTIALS.username} / ${DEFAULT_CREDENTIALS.password})
  control   ${iam.controlUrl}   (state, clock, faults)
  metrics   ${operator.metricsUrl}
  log       ${operator.logFile}

Press Ctrl-C to stop and clean up.`);
}

/** For whoever plays on after the command has ended. */
async function explainKept(
  { place, console: iam, operator, kubectl }: Stage,
  bin: string,
  log: string | undefined,
): Promise<void> {
  await kubectl(["config", "set-context", "--current", `--namespace=${NAMESPACE}`]);
  console.log(`
Cluster, console and operator are left running. To play with them, paste these lines; docs/kubectl-iam/tour.md is a tour.

  export KUBECONFIG=${place.kubeconfig}
  export PATH=${bin}:$PATH
  kubectl iam status

  console   ${iam.url}   (login ${DEFAULT_CREDENTIALS.username} / ${DEFAULT_CREDENTIALS.password})
  control   ${iam.controlUrl}   (state, clock, faults)
  metrics   ${operator.metricsUrl}
  logs      ${operator.logFile}   ${log ?? ""}

To stop and clean up: kill ${process.pid}

${READY}`);
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

try {
  await main();
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
