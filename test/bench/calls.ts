/** Which calls the operator makes for what, exactly and in order. */
import { setTimeout as sleep } from "node:timers/promises";
import type { GateRequest } from "../real-world/gate.ts";
import type { OwnServers } from "../real-world/servers.ts";

export interface CallsOf {
  readonly kube: number;
  /** Of the calls to the API server, those that change what is stored; events apart. */
  readonly writes: number;
  readonly events: number;
  readonly console: number;
  readonly inOrder: readonly string[];
}

export interface Recorded {
  /** Of a new ServiceAccount; the first one, while the console shows no description of the operator's. */
  readonly firstAccount: CallsOf;
  readonly account: CallsOf;
  readonly issue: CallsOf;
  readonly rotation: CallsOf;
  readonly idlePass: CallsOf;
  /** Of a new PolicyBinding, of one with other policies, and of an account whose access is revoked. */
  readonly binding: CallsOf;
  readonly change: CallsOf;
  readonly revocation: CallsOf;
  /** Of an operator that is started again. */
  readonly restart: CallsOf;
  /** The requests of the first issue to the API server, to be sent again by the floor. */
  readonly requests: readonly GateRequest[];
  readonly sample: { readonly name: string; readonly namespace: string; readonly uid: string };
}

/** Longer than anything that follows an issue at once. */
const QUIET_MS = 2_500;

export interface RecordOptions {
  /** Further flags of the operator. */
  readonly args?: readonly string[];
}

export async function recordCalls(
  servers: OwnServers,
  { args = [] }: RecordOptions = {},
): Promise<Recorded> {
  const world = await servers.openWorld();
  const gate = await world.openGate();
  const toConsole: { at: number; text: string }[] = [];
  world.iam.faults.add({
    fault: { kind: "Slow", ms: 0 },
    times: "always",
    where: ({ operation, method }) =>
      toConsole.push({ at: performance.now(), text: `console ${method} ${operation}` }) > 0,
  });
  const start = async () => {
    const operator = await world.startProgram({
      via: gate,
      args: ["--leader-elect=false", ...args],
    });
    await operator.untilReady();
    return operator;
  };
  let operator = await start();
  const record = async (act: () => Promise<unknown>, name = "sample-key") => {
    const since = performance.now();
    await act();
    await sleep(QUIET_MS);
    const requests = gate.requests.filter(
      ({ at, path, body }) =>
        at >= since && !path.includes("watch=") && (path.includes(name) || body.includes(name)),
    );
    const calls = toConsole.filter(
      ({ at, text }) => at >= since && at <= (requests.at(-1)?.at ?? 0) && !text.includes("login"),
    );
    return { requests, calls: countCalls(requests, calls) };
  };
  const create = (name: string) =>
    record(async () => {
      await world.createAccounts([name]);
      await world.saIdOf(name);
    }, name);
  const firstAccount = await create("first-of-all");
  const account = await create("sample-account");
  const issue = await record(async () => {
    await world.createKeys([{ name: "sample-key", account: "sample-account" }]);
    await world.ready("ApiKey", "sample-key");
  });
  const rotation = await record(() => world.rotate("sample-key", "now"));
  const idlePass = await record(() =>
    world.annotate("ApiKey", "sample-key", { "example.com/nothing": "now" }),
  );
  const bind = (...policyIds: readonly string[]) =>
    record(async () => {
      const serviceAccountRef = { name: "sample-account" };
      await world.apply("PolicyBinding", "sample-binding", { serviceAccountRef, policyIds });
      await world.ready("PolicyBinding", "sample-binding");
    }, "sample-");
  const binding = await bind("pol-read");
  const change = await bind("pol-read", "pol-deploy");
  const revocation = await record(async () => {
    await world.patch("ServiceAccount", "sample-account", { spec: { access: "Revoked" } });
    await world.condition("ServiceAccount", "sample-account", "AccessRevoked", "True");
  }, "sample-");
  await operator.stop();
  const restart = await record(async () => {
    operator = await start();
  });
  await operator.stop();
  const uid = /"uid":"([^"]+)"/.exec(issue.requests.map(({ body }) => body).join(""))?.[1] ?? "";
  return {
    firstAccount: firstAccount.calls,
    account: account.calls,
    issue: issue.calls,
    rotation: rotation.calls,
    idlePass: idlePass.calls,
    binding: binding.calls,
    change: change.calls,
    revocation: revocation.calls,
    restart: restart.calls,
    requests: issue.requests,
    sample: { name: "sample-key", namespace: world.namespace, uid },
  };
}

function countCalls(
  requests: readonly GateRequest[],
  toConsole: readonly { at: number; text: string }[],
): CallsOf {
  const isEvent = ({ path }: GateRequest) => path.includes("/events");
  const isWrite = (request: GateRequest) => request.method !== "GET" && !request.isDryRun;
  const toKube = requests.map((request) => ({ at: request.at, text: describe(request) }));
  return {
    kube: requests.length,
    writes: requests.filter((request) => isWrite(request) && !isEvent(request)).length,
    events: requests.filter(isEvent).length,
    console: toConsole.length,
    inOrder: [...toKube, ...toConsole].sort((a, b) => a.at - b.at).map(({ text }) => text),
  };
}

function describe({ method, path, body, isDryRun }: GateRequest): string {
  const place = /\/namespaces\/[^/]+\/([^?]*)/.exec(path)?.[1] ?? path;
  const name = method === "POST" ? `/${JSON.parse(body).metadata?.name}` : "";
  return `${method} ${place}${name}${isDryRun ? " (dry run)" : ""}`;
}
