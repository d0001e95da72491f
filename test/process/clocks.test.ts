/** The real process with a wrong wall clock, on a control plane and a console with the right one. */
import { expect, test } from "vitest";
import { DAY, MINUTE, parseInstant, SECOND, systemClock } from "../../src/util/time.ts";
import { until } from "../real-world/until.ts";
import { useSharedServers } from "../real-world/use-servers.ts";

const servers = useSharedServers();

/** Moves `Date` before anything of the operator is loaded. */
function movedBy(ms: number): readonly string[] {
  const code = `const now = Date.now; Date.now = () => now() + ${ms};`;
  return [`--import=data:text/javascript,${encodeURIComponent(code)}`];
}

test.each([70 * DAY, -70 * DAY])(
  "a process whose clock is %i ms off rotates nothing and stores the right times",
  async (ms) => {
    const world = await servers().openWorld();
    const first = await world.startProgram();
    await first.untilReady();
    await world.createAccounts(["ci"]);
    await world.createKeys([{ name: "one", account: "ci" }]);
    await world.ready("ApiKey", "one");
    const statusOf = async () => (await world.get("ApiKey", "one")).status;
    const before = await statusOf();
    await first.stop();

    const wrong = await world.startProgram({ nodeArgs: movedBy(ms) });
    await wrong.untilReady();
    await until("the skew to be known", async () => {
      const { status } = await world.get("Connection", "console");
      return Math.abs((status?.clockSkewSeconds ?? 0) * SECOND + ms) < MINUTE;
    });
    await world.reconcile("ApiKey", "one", "with the wrong clock");
    expect(await statusOf()).toMatchObject({
      current: before?.current,
      renewalTime: before?.renewalTime,
    });
    await world.rotate("one", "on request");
    await until("another key", async () => {
      const { keyId } = (await statusOf())?.current ?? {};
      return keyId !== undefined && keyId !== before?.current?.keyId;
    });
    const { current, superseded = [], conditions = [] } = (await statusOf()) ?? {};
    const times = [
      current?.issueTime,
      current?.verificationTime,
      ...superseded.map((key) => key.supersededTime),
      ...conditions.map((each) => each.lastTransitionTime),
    ];
    for (const time of times)
      expect(Math.abs((parseInstant(time) ?? 0) - systemClock.now())).toBeLessThan(5 * MINUTE);
    expect(await wrong.stop()).toEqual({ code: 0, signal: null });

    const right = await world.startProgram();
    await right.untilReady();
    await world.reconcile("ApiKey", "one", "with the right clock");
    expect((await statusOf())?.current).toEqual(current);
    expect(world.iam.requests.count("issueKey")).toBe(2);
  },
);
