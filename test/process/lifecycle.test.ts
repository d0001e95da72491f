/** Starting and stopping the real process on a real control plane. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectionType, secretType } from "../../src/controllers/resource-types.ts";
import { freePorts } from "../cluster/ports.ts";
import { findLeaks } from "../integration/support/leak-check.ts";
import { withServer } from "./support/gate.ts";
import { takeStock } from "./support/ledger.ts";
import { runOperator, startOperator } from "./support/program.ts";
import { until } from "./support/until.ts";
import { useSharedRig } from "./support/use-rig.ts";

const rig = useSharedRig();

const mistakes: readonly (readonly [args: readonly string[], advice: string])[] = [
  [["--concurrency=0"], "--concurrency"],
  [["--secret-check-interval=1s"], "must be at least 5s"],
  [["--log-level=loud"], "must be debug, info, warn or error"],
  [["--kubeconf=x"], "Run iam-operator --help"],
  [["--namespaces"], "Run iam-operator --help"],
  [["--probe-address=nowhere"], "must be host:port"],
];

test.concurrent.for(mistakes)(
  "%j ends with code 2 and says what to do",
  async ([args, advice], { expect }) => {
    const { code, output } = await runOperator(args);
    expect(code).toBe(2);
    expect(output).toContain(advice);
    expect(output).not.toMatch(/^ +at /m);
  },
);

test("a kubeconfig that is not there ends with code 1 and its path", async () => {
  const { code, output } = await runOperator(["--kubeconfig=/nowhere/kubeconfig"]);
  expect(code).toBe(1);
  expect(output).toContain("/nowhere/kubeconfig");
});

test("an API server that cannot be reached: alive, not ready, and stops when told to", async () => {
  const [port] = await freePorts(1);
  const kubeconfig = join(rig().cluster.directory, "unreachable.kubeconfig");
  const text = readFileSync(rig().cluster.kubeconfigFor("operator"), "utf8");
  writeFileSync(kubeconfig, withServer(text, `https://127.0.0.1:${port}`));
  const operator = await startOperator({ kubeconfig });
  try {
    await until("the probes to answer", () =>
      operator.get("/healthz").then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    expect((await operator.get("/readyz")).status).toBe(503);
    await until("a word about it in the log", () =>
      operator.log().some((line) => JSON.stringify(line).includes("ECONNREFUSED")),
    );
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
  } finally {
    await operator.kill();
  }
});

test("it serves its pages, logs JSON, and keeps secrets out of everything", async () => {
  const place = await rig().openPlace();
  const operator = await place.start({ args: ["--log-level=debug"] });
  await operator.untilReady();
  expect((await operator.get("/healthz")).status).toBe(200);
  await place.createAccounts(["ci"]);
  await place.createKeys([{ name: "one", account: "ci" }]);
  await until("the key to be ready", async () => {
    const stock = await takeStock(rig().kube, place.iam, place.namespace);
    return stock.ready === 1 && stock.stuck.length === 0;
  });
  const { text: metrics } = await operator.get("/metrics");
  expect(metrics).toMatch(/^iam_operator_apikey_issues_total\{result="Issued"\} 1$/m);
  expect(metrics).toMatch(/^leader_election_master_status\{name="iam-operator"\} 1$/m);

  const proc = (file: string) => readFileSync(`/proc/${operator.pid}/${file}`, "utf8");
  const channels = { argv: proc("cmdline"), environment: proc("environ"), metrics };
  const lines = operator.output().trimEnd().split("\n");
  expect(operator.log()).toHaveLength(lines.length);
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
  expect(findLeaks({ ...channels, ...place.outputs() }, place.secrets())).toEqual([]);
  // The check itself sees a leak in a log.
  const planted = { log: `${operator.output()}${place.secrets()[0]}` };
  expect(findLeaks(planted, place.secrets())).toHaveLength(1);
});

test("by default, a Connection to this machine is refused before anything is sent", async () => {
  const place = await rig().openPlace();
  const operator = await place.start({ args: ["--connection-networks="] });
  await operator.untilReady();
  await until("the Connection to say so", async () => {
    const key = { namespace: place.namespace, name: "console" };
    const connection = await rig().kube.get(connectionType, key);
    return JSON.stringify(connection?.status).includes("connections must not use this address");
  });
  expect(place.iam.requests.all).toEqual([]);
});

test("SIGTERM in the middle of an issue waits for the pair, keeps it, and gives the lease back", async () => {
  const place = await rig().openPlace();
  const operator = await place.start();
  await operator.untilReady();
  await place.createAccounts(["ci"]);
  await place.saIdOf("ci");
  const fault = place.iam.faults.add({
    operation: "issueKey",
    fault: { kind: "Hold", when: "AfterCommit" },
  });
  await place.createKeys([{ name: "one", account: "ci" }]);
  await fault.reached;
  expect(await place.leaseHolder()).toContain("_");
  operator.signal("SIGTERM");
  await until("the operator to say that it stops", () => operator.output().includes("stopping"));
  expect(operator.isRunning).toBe(true);
  fault.release();
  expect(await operator.exit).toEqual({ code: 0, signal: null });

  expect(await place.leaseHolder()).toBe("");
  const [key] = place.iam.world.keys.values();
  const secrets = await rig().kube.list(secretType, { namespace: place.namespace });
  const kept = secrets.flatMap(({ data = {} }) => {
    const [keyId, secret] = [data.keyId, data.secret].map((value = "") =>
      Buffer.from(value, "base64").toString(),
    );
    return place.iam.world.isPair(keyId ?? "", secret ?? "") ? [keyId] : [];
  });
  expect(new Set(kept)).toEqual(new Set([key?.keyId]));
});
