/**
 * The operator dies at every call that an issue and a rotation make, before it is sent, after the server has
 * carried it out, and after its answer; another one takes over. Both servers are real.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Call, type CrashPoint, MortalProcess } from "./support/crashing-transport.ts";
import { World } from "./support/world.ts";

const POINTS: readonly CrashPoint[] = ["beforeSend", "afterCommit", "afterAnswer"];
/** More than any way through the plan makes; the recording says how many there really are. */
const MAX_CALLS = 60;

/** What an issue does, without the housekeeping around it. */
const belongsToIssue = ({ to, path }: Call) =>
  (to === "iam" && !path.endsWith("/login")) || /\/(apikeys|secrets)\/|\/secrets$/.test(path);

let world: World;
beforeAll(async () => {
  world = await World.open({ bare: true, timing: { secretCheckMs: 60_000 } });
  await world.connect();
  await world.start();
  await world.serviceAccount("ci");
  await world.ready("ServiceAccount", "ci");
  await world.operator?.stop();
});
afterAll(() => world.close());

interface Scenario {
  readonly title: string;
  /** Brings the object to where the scenario starts; runs with a healthy operator. */
  prepare(name: string): Promise<void>;
  /** What the dying operator is to react to. */
  act(name: string): Promise<unknown>;
  /** Whether it is through. */
  isThrough(name: string): Promise<boolean>;
  readonly keysNeeded: number;
}

/** Out of the way of the operators to come. */
const forget = async (name: string) => {
  await world.patch("ApiKey", name, { metadata: { finalizers: [] } });
  await world.delete("ApiKey", name);
};

const isReady = async (name: string) => {
  const { status } = await world.get("ApiKey", name);
  return (
    status?.current !== undefined &&
    status.attempt === undefined &&
    (await world.holdsLivePair(name)) &&
    (await world.secret(`${name}-next`)) === undefined
  );
};

const scenarios: readonly Scenario[] = [
  {
    title: "the first issue",
    prepare: async () => undefined,
    act: (name) => world.apiKey(name),
    isThrough: isReady,
    keysNeeded: 1,
  },
  {
    title: "a rotation",
    prepare: async (name) => {
      await world.start();
      await world.apiKey(name);
      await world.until(`${name} to be ready`, () => isReady(name));
      await world.operator?.stop();
    },
    act: (name) => world.annotate("ApiKey", name, { "iam-operator.io/rotate-requested-at": "now" }),
    isThrough: async (name) => {
      const { status } = await world.get("ApiKey", name);
      return (await isReady(name)) && status?.current?.revision !== 1;
    },
    keysNeeded: 2,
  },
];

describe.each(scenarios)("a crash in $title", (scenario) => {
  let calls = MAX_CALLS;

  test("the calls of an undisturbed run are known", async () => {
    const name = `${scenario.title.replaceAll(" ", "-").toLowerCase()}-record`;
    await scenario.prepare(name);
    const process = new MortalProcess(undefined, belongsToIssue);
    await world.start(process);
    await scenario.act(name);
    await world.until("the undisturbed end", () => scenario.isThrough(name));
    calls = process.calls.length;
    await world.operator?.stop();
    await expectAccounted(name, 0);
    await forget(name);
    expect(process.calls.filter((call) => call.path.endsWith("/keys"))).toHaveLength(1);
    expect(calls).toBeGreaterThan(8);
    expect(calls).toBeLessThan(MAX_CALLS);
  });

  test.each(POINTS)(
    "%s of any call loses no key silently and leaves a live pair",
    async (point) => {
      for (let at = 0; at < calls; at += 1) {
        const name = `${scenario.title.replaceAll(" ", "-").toLowerCase()}-${point.toLowerCase()}-${at}`;
        await scenario.prepare(name);
        const process = new MortalProcess({ at, point }, belongsToIssue);
        const dying = await world.start(process);
        await scenario.act(name);
        const ended = world.until("the end of a run that needs fewer calls", () =>
          scenario.isThrough(name).then((through) => through || process.dead),
        );
        await Promise.race([process.died, ended]);
        await dying.kill();
        await world.start();
        await world.until(`${name} to settle after dying ${point} of call ${at}`, () =>
          scenario.isThrough(name),
        );
        await world.operator?.stop();
        await expectAccounted(name, 1);
        await forget(name);
      }
    },
    600_000,
  );

  /** S5: every key issued for the object is in its status; S4: at most one more than needed per crash. */
  async function expectAccounted(name: string, crashes: number): Promise<void> {
    const { status } = await world.get("ApiKey", name);
    const listed = [status?.current, ...(status?.superseded ?? []), ...(status?.orphaned ?? [])]
      .map((key) => key?.keyId)
      .toSorted();
    const saId = (await world.get("ServiceAccount", "ci")).status?.saId ?? "";
    const issued = world.iam.world
      .keysOf(saId)
      .filter(({ description }) => description?.includes(`${world.namespace}/${name}#`));
    expect(listed).toEqual(issued.map(({ keyId }) => keyId).toSorted());
    expect(issued.length).toBeGreaterThanOrEqual(scenario.keysNeeded);
    expect(issued.length).toBeLessThanOrEqual(scenario.keysNeeded + crashes);
    const attempts = issued.map(({ description }) => description?.split("#").at(1));
    expect(new Set(attempts).size).toBe(attempts.length);
  }
});
