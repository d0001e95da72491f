/** A hundred tenants come and go: the leader's memory returns to where it was after the first of them. */
import { expect, test, vi } from "vitest";
import { useServers } from "../real-world/use-servers.ts";
import { letVisitorsComeAndGo } from "./support/attacks/visitors.ts";

const MINUTE = 60_000;
vi.setConfig({ testTimeout: 60 * MINUTE });
/** What code and counters may add, of either. */
const GROWTH_MIB = 8;

const servers = useServers();

test("memory returns to where it was, and no text of a tenant stays", async () => {
  const { texts, residentMiB } = await letVisitorsComeAndGo(servers(), {
    visitors: 10,
    rounds: 10,
  });
  expect(texts).toEqual([]);
  const [before, after] = [residentMiB.slice(0, 5), residentMiB.slice(5)];
  expect(Math.max(...after)).toBeLessThanOrEqual(Math.max(...before) + GROWTH_MIB);
});
