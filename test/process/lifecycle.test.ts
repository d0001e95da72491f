/** Starting and stopping the real process on a real control plane. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findCondition } from "../../src/api/conditions.ts";
import { leaseType, secretType } from "../../src/kube/resource-types.ts";
import { freePorts } from "../cluster/ports.ts";
import { withServer } from "../real-world/gate.ts";
import { findLeaks } from "../real-world/leaks.ts";
import { runOperator, startOperator } from "../real-world/program.ts";
import { until } from "../real-world/until.ts";
import { useSharedServers } from "../real-world/use-servers.ts";

const servers = useSharedServers();

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
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-unreachable-"));
  const kubeconfig = join(directory, "kubeconfig");
  const text = readFileSync(servers().cluster.kubeconfigFor("operator"), "utf8");
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
    rmSync(directory, { recursive: true });
  }
});

test("it serves its pages, logs JSON, and keeps secrets out of everything", async () => {
  const world = await servers().openWorld();
  const operator = await world.startProgram({ args: ["--log-level=debug"] });
  await operator.untilReady();
  expect((await operator.get("/healthz")).status).toBe(200);
  await world.createAccounts(["ci"]);
  await world.createKeys([{ name: "one", account: "ci" }]);
  await world.ready("ApiKey", "one");
  const { text: metrics } = await operator.get("/metrics");
  expect(metrics).toMatch(/^iam_operator_apikey_issues_total\{result="Issued"\} 1$/m);
  expect(metrics).toMatch(/^leader_election_master_status\{name="iam-operator"\} 1$/m);

  const proc = (file: string) => readFileSync(`/proc/${operator.pid}/${file}`, "utf8");
  const channels = { argv: proc("cmdline"), environment: proc("environ"), metrics };
  const lines = operator.output().trimEnd().split("\n");
  expect(operator.log()).toHaveLength(lines.length);
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
  expect(findLeaks({ ...channels, output: operator.output() }, world.secrets())).toEqual([]);
  // The check itself sees a leak in a log.
  const planted = { log: `${operator.output()}${world.secrets()[0]}` };
  expect(findLeaks(planted, world.secrets())).toHaveLength(1);
});

test("by default, a Connection to this machine is refused before anything is sent", async () => {
  const world = await servers().openWorld();
  const operator = await world.startProgram({ args: ["--connection-networks="] });
  await operator.untilReady();
  await until("the Connection to say so", async () => {
    const connection = await world.get("Connection", "console");
    const { conditions } = connection.status ?? {};
    return findCondition(conditions, "Stalled")?.reason === "AddressRefused";
  });
  expect(world.iam.requests.all).toEqual([]);
});

test("SIGTERM in the middle of an issue waits for the pair, keeps it, and gives the lease back", async () => {
  const world = await servers().openWorld();
  const operator = await world.startProgram();
  await operator.untilReady();
  await world.createAccounts(["ci"]);
  await world.saIdOf("ci");
  const fault = world.iam.faults.add({
    operation: "issueKey",
    fault: { kind: "Hold", when: "AfterCommit" },
  });
  await world.createKeys([{ name: "one", account: "ci" }]);
  await fault.reached;
  const leaseHolder = async () => {
    const lease = await world.kube.get(leaseType, {
      namespace: world.namespace,
      name: "iam-operator",
    });
    return lease?.spec?.holderIdentity;
  };
  expect(await leaseHolder()).toContain("_");
  operator.signal("SIGTERM");
  await until("the operator to say that it stops", () => operator.output().includes("stopping"));
  expect(operator.isRunning).toBe(true);
  fault.release();
  expect(await operator.exit).toEqual({ code: 0, signal: null });

  expect(await leaseHolder()).toBe("");
  const secrets = await world.kube.list(secretType, world);
  const live = await Promise.all(secrets.map(({ metadata }) => world.holdsLivePair(metadata.name)));
  expect(live).toContain(true);
  expect(world.iam.world.keys.size).toBe(1);
});
