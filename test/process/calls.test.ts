/** How many calls the operator makes for what, exactly: docs/performance.md gives the same numbers. */
import { expect, test } from "vitest";
import { recordCalls } from "../bench/calls.ts";
import { useServers } from "../real-world/use-servers.ts";

const servers = useServers();

test("where Secrets may not be watched, every run reads both of them first", async () => {
  expect(await recordCalls(servers(), { args: ["--watch-secrets=false"] })).toMatchObject({
    issue: { kube: 9, writes: 5, events: 1, console: 3 },
    rotation: { kube: 10, writes: 5, events: 1, console: 3 },
    idlePass: { kube: 2, writes: 0, events: 0, console: 0 },
  });
});

test("where they may be, a Secret that has not changed is not read", async () => {
  const { kubectl } = servers();
  const role = ["secret-watcher", "--verb=list,watch", "--resource=secrets"];
  await kubectl(["create", "clusterrole", ...role]);
  const binding = ["secret-watcher", "--clusterrole=secret-watcher", "--user=operator"];
  await kubectl(["create", "clusterrolebinding", ...binding]);
  expect(await recordCalls(servers())).toMatchObject({
    firstAccount: { kube: 4, writes: 3, events: 1, console: 2 },
    account: { kube: 3, writes: 2, events: 1, console: 2 },
    issue: { kube: 8, writes: 5, events: 1, console: 3 },
    rotation: { kube: 9, writes: 5, events: 1, console: 3 },
    idlePass: { kube: 0, writes: 0, events: 0, console: 0 },
    binding: { kube: 7, writes: 4, events: 1, console: 3 },
    change: { kube: 6, writes: 3, events: 1, console: 3 },
    revocation: { console: 4 },
    restart: { kube: 0, writes: 0, events: 0, console: 0 },
  });
});
