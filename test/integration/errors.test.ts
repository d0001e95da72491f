/**
 * Every documented error and every broken answer at every call that the operator makes: the object says what
 * happened, nothing is made twice, and all is well once the fault is over.
 */
import { describe, expect, test } from "vitest";
import { findCondition, isTrue } from "../../src/api/conditions.ts";
import type { FaultAction } from "../iam-server/faults.ts";
import type { Operation } from "../iam-server/operations.ts";
import { effort } from "../setup/effort.ts";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

const MIB = 1_024 * 1_024;

const faults: Readonly<Record<string, FaultAction>> = {
  "401": { kind: "status", status: 401 },
  "403": { kind: "status", status: 403, message: "Policy denied" },
  "404": { kind: "status", status: 404 },
  "422": { kind: "status", status: 422 },
  "409": { kind: "status", status: 409 },
  "500": { kind: "status", status: 500 },
  "502": { kind: "status", status: 502 },
  "429 with Retry-After": { kind: "status", status: 429, retryAfter: 1 },
  "503 with Retry-After": { kind: "status", status: 503, retryAfter: 1 },
  "a redirect": { kind: "redirect", location: "http://127.0.0.1:9/" },
  "no JSON": { kind: "garbage" },
  "other JSON": { kind: "body", text: '{"requestId":"r-1","result":7}' },
  "an empty body": { kind: "body", text: "" },
  "a truncated body": { kind: "truncate" },
  "a huge body": { kind: "huge", bytes: 9 * MIB },
  "a nested body": { kind: "nested", depth: 100_000 },
  "a reset": { kind: "reset" },
  "no answer": { kind: "hang" },
};

const operations = [
  "login",
  "listServiceAccounts",
  "createServiceAccount",
  "getServiceAccount",
  "issueKey",
  "searchActions",
  "listBindings",
  "syncBindings",
  "listResourceQuotas",
] as const satisfies readonly Operation[];

/** Nothing says what the answer of this call holds, so that any success counts as one. */
const isTakenAsSuccess = (operation: Operation, { kind }: FaultAction) =>
  operation === "syncBindings" && ["garbage", "body", "nested"].includes(kind);

const cells = operations.flatMap((operation, row) =>
  Object.entries(faults).map(([name, action], column) => ({
    operation,
    name,
    action,
    when: isTakenAsSuccess(operation, action)
      ? ("afterCommit" as const)
      : ("beforeCommit" as const),
    isSample: (row * 2 + column) % operations.length === 0,
  })),
);

const objects = [
  ["Connection", "console"],
  ["ServiceAccount", "ci"],
  ["ApiKey", "key"],
  ["PolicyBinding", "read"],
  ["ResourceQuotaExport", "all"],
] as const;

/** `timeout`: how long a call waits for its answer; a short one only where none comes. */
const declare = async (world: World, { kind }: FaultAction) => {
  const timeout = kind === "hang" ? "2s" : "15s";
  await world.connect({
    limits: { requestsPerSecond: 1_000, burst: 1_000, concurrency: 16, timeout },
  });
  await world.serviceAccount("ci");
  await world.apiKey("key");
  await world.apply("PolicyBinding", "read", {
    serviceAccountRef: { name: "ci" },
    policyIds: ["pol-read"],
  });
  await world.apply("ResourceQuotaExport", "all", {
    connectionRef: { kind: "Connection", name: "console" },
    clusterId: 7,
    interval: "15s",
  });
};

/** Waits until all is well; asks again, as a person would, for what only a person can bring back. */
const settle = async (world: World) => {
  const said = new Set<string>();
  let asked = 0;
  let unready: readonly string[] = [];
  let askedAt = 0;
  await world.until(
    () => `everything to be ready; ${unready.join(", ")} is not:\n${[...said].join("\n")}`,
    async () => {
      const found = await Promise.all(
        objects.map(async ([kind, name]) => ({
          kind,
          name,
          status: (await world.get(kind, name)).status,
        })),
      );
      const left = found.filter(({ status }) => !isTrue(status?.conditions, "Ready"));
      unready = left.map(({ kind }) => kind);
      for (const { kind, status } of found) {
        const { reason, message } = findCondition(status?.conditions, "Ready") ?? {};
        if (message !== undefined) said.add(`${kind} ${reason}: ${message}`);
      }
      if (performance.now() < askedAt + 2_000) return left.length === 0;
      askedAt = performance.now();
      const stalled = left.filter(({ status }) => isTrue(status?.conditions, "Stalled"));
      asked += 1;
      for (const { kind, name } of stalled)
        await world.annotate(kind, name, {
          "iam-operator.io/reconcile-requested-at": String(asked),
        });
      return left.length === 0;
    },
    70_000,
  );
  return [...said];
};

const expectOneOfEach = async (world: World) => {
  const [account, ...others] = [...world.iam.world.accounts.values()];
  expect(others).toEqual([]);
  const { saId = "", tpn = "" } = account ?? {};
  expect(world.iam.world.boundTo(tpn)).toEqual(["pol-read"]);
  expect(await world.holdsLivePair("key")).toBe(true);
  const { current, orphaned = [] } = (await world.get("ApiKey", "key")).status ?? {};
  const known = [current, ...orphaned].map((key) => key?.keyId).toSorted();
  expect(
    world.iam.world
      .keysOf(saId)
      .map(({ keyId }) => keyId)
      .toSorted(),
  ).toEqual(known);
  return orphaned.length;
};

/** Sentences for people: they begin and end like ones, and those about an answer name the request. */
const expectReadable = (said: readonly string[]) => {
  for (const line of said) {
    const message = line.slice(line.indexOf(": ") + 2);
    expect(message).toMatch(/^[A-Z\d].*[.)]$/s);
    expect(message).not.toMatch(/undefined|\[object|\.\./);
    if (/status 4\d\d/.test(message)) expect(message).toMatch(/request/i);
  }
};

describe.concurrent("an answer to a call", () => {
  test.each(cells.filter(({ isSample }) => isSample || effort > 1))(
    "$operation: $name does no lasting harm",
    ({ operation, action, when }) =>
      inWorld({ bare: true }, async (world) => {
        // Each failure of these is waited out for a while.
        const times = operation === "login" || operation === "createServiceAccount" ? 1 : 2;
        const fault = world.iam.faults.add({ operation, when, action, times });
        await declare(world, action);
        await world.start();
        await fault.reached;
        const said = await settle(world);
        expect(await expectOneOfEach(world)).toBe(0);
        expectReadable(said);
      })(),
    120_000,
  );
});

describe.concurrent("an answer that is lost after the call took effect", () => {
  test.each([
    { operation: "createServiceAccount", action: "a reset" },
    { operation: "createServiceAccount", action: "502" },
    { operation: "issueKey", action: "a reset" },
    { operation: "issueKey", action: "502" },
    { operation: "issueKey", action: "no JSON" },
    { operation: "issueKey", action: "a truncated body" },
    { operation: "issueKey", action: "no answer" },
    { operation: "syncBindings", action: "no answer" },
  ] as const)(
    "$operation: $action is accounted for",
    ({ operation, action }) =>
      inWorld({ bare: true }, async (world) => {
        const answer = faults[action];
        if (answer === undefined) throw new Error(`no fault ${action}`);
        world.iam.faults.add({ operation, when: "afterCommit", action: answer });
        await declare(world, answer);
        await world.start();
        expectReadable(await settle(world));
        expect(await expectOneOfEach(world)).toBe(operation === "issueKey" ? 1 : 0);
      })(),
    120_000,
  );
});
