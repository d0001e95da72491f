/** What tenants leave in the memory of the leader when they are gone; come-and-go.long.test.ts has many of them. */
import { expect, test } from "vitest";
import { useServers } from "../real-world/use-servers.ts";
import { letVisitorsComeAndGo } from "./support/attacks/visitors.ts";

const servers = useServers();

test("no text of tenants that come and go, one by one and at once, stays in memory", async () => {
  const { texts } = await letVisitorsComeAndGo(servers(), { visitors: 3, rounds: 2 });
  expect(texts).toEqual([]);
});
