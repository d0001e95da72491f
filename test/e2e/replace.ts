/** A key leaked: its account is replaced while a workload calls the console with the key. */
import { API_VERSION } from "../../src/api/meta.ts";
import { runInProcess } from "../unit/kubectl-iam/support/in-process.ts";
import { type Stage, SYSTEM, TEAM } from "./stage.ts";
import { until } from "./wait.ts";
import { type Call, callAs, isFailed, parseCalls, podWithFiles } from "./workloads.ts";

const NAME = "leaky";

/** Longer than a kubelet of this node needs to show another version of a Secret. */
const OVERLAP = "30s";

export async function replaceAccount(stage: Stage): Promise<string> {
  const { kubectl, image, console: iam, node } = stage;
  const setting = { namespace: TEAM, image: image.bases.runtime, consoleUrl: iam.url };
  await kubectl(["apply", "-f", "-"], manifests());
  await kubectl(["wait", "--for=condition=Ready", `iamkey/${NAME}`, `-n=${TEAM}`, "--timeout=60s"]);
  const leaked = await pairIn(stage);
  await kubectl(["apply", "-f", "-"], podWithFiles(setting, NAME, NAME));
  await until("calls", 60_000, async () =>
    (await replacedCalls(stage)).length >= 10 ? true : undefined,
  );

  const startedAt = performance.now();
  const at: string[] = [];
  const print = (line: string) =>
    at.push(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${line}`);
  const flags = ["-n", TEAM, "--operator-namespace", SYSTEM, "--overlap", OVERLAP, "--yes"];
  const { code, notes } = await runInProcess(
    ["replace-account", NAME, ...flags, "--kubeconfig", node.kubeconfig],
    {},
    { print },
  );
  if (code !== 0) throw new Error(notes);
  const keyId = (await pairIn(stage)).keyId;
  const calls = await until("a call with the new key", 30_000, async () => {
    const all = await replacedCalls(stage);
    return all.at(-1)?.keyId === keyId ? all : undefined;
  });
  const failed = calls.filter(isFailed);
  if (failed.length > 0)
    throw new Error(`${failed.length} calls failed: ${JSON.stringify(failed[0])}`);
  const status = await callAs(iam.url, leaked);
  if (status !== 403) throw new Error(`a call with the leaked key was answered with ${status}`);
  // Not Ready while the access of its account is revoked.
  await kubectl(["delete", "iampb", NAME, `-n=${TEAM}`, "--timeout=60s"]);
  return [...at, `${calls.length} calls, none failed; then 403 for the leaked key`].join("\n");
}

/** All calls of the workload so far. */
export async function replacedCalls({ node }: Stage): Promise<readonly Call[]> {
  return parseCalls(await node.podLogs(TEAM, NAME));
}

async function pairIn({ kubectl }: Stage): Promise<{ keyId: string; secret: string }> {
  const { data } = JSON.parse(await kubectl(["get", "secret", NAME, `-n=${TEAM}`, "-o=json"]));
  const read = (entry: string) => Buffer.from(data[entry], "base64").toString();
  return { keyId: read("keyId"), secret: read("secret") };
}

function manifests(): string {
  const serviceAccountRef = { name: NAME };
  const items = [
    { kind: "ServiceAccount", spec: {} },
    { kind: "PolicyBinding", spec: { serviceAccountRef, policyIds: ["pol-read"] } },
    { kind: "ApiKey", spec: { serviceAccountRef } },
  ].map((object) => ({
    apiVersion: API_VERSION,
    metadata: { name: NAME, namespace: TEAM },
    ...object,
  }));
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}
