import { expect, test, vi } from "vitest";
import { createLeaderElection } from "../../../src/kube/leader-election.ts";
import { leaseType } from "../../../src/kube/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";
import { useNamespace } from "../../real-world/use-namespace.ts";

const own = useNamespace("election");

/** Half-second timings, so that a takeover is quick to see. */
const timings = { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 500 };

function start(identity: string, log: string[]) {
  const { client, namespace } = own();
  const stop = new AbortController();
  const election = createLeaderElection({
    client,
    namespace,
    name: "iam-operator",
    identity,
    timings,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  const end = election.run({
    signal: stop.signal,
    onStartedLeading: () => log.push(`${identity} leads`),
  });
  void end.then((how) => log.push(`${identity} ${how}`));
  return { election, stop, end };
}

test("on a real API server one leads, and another goes on when it stops or when its lease is taken away", async () => {
  const { client, namespace } = own();
  const key = { namespace, name: "iam-operator" };
  const log: string[] = [];
  const a = start("a", log);
  await vi.waitFor(() => expect(log).toEqual(["a leads"]), 10_000);
  const b = start("b", log);
  await systemClock.sleep(2 * timings.leaseMs);
  expect([log, a.election.isLeader, b.election.isLeader]).toEqual([["a leads"], true, false]);

  a.stop.abort();
  expect(await a.end).toBe("Stopped");
  await vi.waitFor(() => expect(log.slice(1)).toEqual(["a Stopped", "b leads"]), 3_000);

  await client.mergePatch(leaseType, key, { spec: { holderIdentity: "thief" } });
  expect(await b.end).toBe("Lost");
  expect(() => b.election.assertMayMutate(0)).toThrow("does not lead");

  const c = start("c", log);
  await vi.waitFor(() => expect(log.at(-1)).toBe("c leads"), 2 * timings.leaseMs);
  const lease = await client.get(leaseType, key);
  expect(lease?.spec).toMatchObject({ holderIdentity: "c", leaseDurationSeconds: 3 });
  c.stop.abort();
  await c.end;
});
