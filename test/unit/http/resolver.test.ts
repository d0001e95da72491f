import { createSocket } from "node:dgram";
import { promises as dns } from "node:dns";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { candidatesFor, readHostFiles } from "../../../src/http/host-files.ts";
import { createResolver, type NameServers } from "../../../src/http/resolver.ts";
import { systemClock } from "../../../src/util/time.ts";

const POD = `search team-a.svc.cluster.local svc.cluster.local cluster.local
nameserver 10.96.0.10
options ndots:5 timeout:1
`;

describe("the files of a machine", () => {
  const files = readHostFiles(
    "127.0.0.1 localhost\n10.0.0.1 Console.test alias # note\nx y\n",
    POD,
  );

  test("name addresses in any case", () => {
    expect(files.hosts.get("console.test")).toEqual(["10.0.0.1"]);
    expect(files.hosts.get("alias")).toEqual(["10.0.0.1"]);
    expect(files.hosts.has("y")).toBe(false);
  });

  test("always name the machine itself", () => {
    expect(readHostFiles("", "").hosts.get("localhost")).toEqual(["127.0.0.1", "::1"]);
    expect(files.hosts.get("localhost")).toEqual(["127.0.0.1"]);
  });

  const searched = [
    "console.example.com.team-a.svc.cluster.local",
    "console.example.com.svc.cluster.local",
    "console.example.com.cluster.local",
  ];
  test.each([
    ["in a Pod", POD, "console.example.com", [...searched, "console.example.com"]],
    ["with fewer dots required", "search a.test\n", "x.y", ["x.y", "x.y.a.test"]],
    ["without a domain", "", "console", ["console"]],
    ["a name that is absolute", POD, "console.example.com.", ["console.example.com"]],
    ["with an option that is not a number", "search a\noptions ndots:x", "b", ["b.a", "b"]],
  ])("search a name %s", (_, resolvConf, name, expected) => {
    expect(candidatesFor(name, readHostFiles("", resolvConf))).toEqual(expected);
  });
});

/** Name servers that answer what `zone` says for `A`, and are silent for names that it lacks. */
function servers(zone: Readonly<Record<string, string | null>>) {
  const asked: string[] = [];
  const absent = (name: string) => Object.assign(new Error(name), { code: "ENOTFOUND" });
  const all: NameServers = {
    resolve4: async (name) => {
      asked.push(name);
      const found = zone[name];
      if (found === undefined) return new Promise(() => undefined);
      if (found === null) throw absent(name);
      return [{ address: found, ttl: 10 }];
    },
    resolve6: async (name) => {
      throw absent(name);
    },
  };
  return { all, asked };
}

describe("a resolver", () => {
  const plain = readHostFiles("", "");

  test("answers the first domain in which the name exists", async () => {
    const { all } = servers({ "a.x": null, "a.y": "10.0.0.2" });
    const files = readHostFiles("", "search x y");
    const resolver = createResolver({ files, clock: systemClock, servers: all });
    expect(await resolver.resolve("a", "team-a")).toEqual(["10.0.0.2"]);
  });

  test("asks once for a name until its time to live is over", async () => {
    const { all, asked } = servers({ "console.test": "10.0.0.2" });
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    const resolver = createResolver({ files: plain, clock, servers: all });
    for (const at of [0, 9_000]) {
      now = at;
      await resolver.resolve("Console.test", "team-a");
    }
    expect(asked).toEqual(["console.test"]);
    now = 10_000;
    await resolver.resolve("console.test", "team-a");
    expect(asked).toHaveLength(2);
  });

  test("names of one owner that are never answered delay no other owner", async () => {
    const { all, asked } = servers({ "console.test": "10.0.0.2" });
    const resolver = createResolver({ files: plain, clock: systemClock, servers: all });
    for (let n = 0; n < 40; n += 1) void resolver.resolve(`c${n}.silent.test`, "hostile");
    void resolver.resolve("console.test", "hostile");
    expect(await resolver.resolve("console.test", "team-a")).toEqual(["10.0.0.2"]);
    expect(asked.filter((name) => name.endsWith(".silent.test"))).toHaveLength(4);
  });

  test("a name without an address says so, and a server without an answer is not taken for that", async () => {
    const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    const { all } = servers({ "gone.test": null });
    const broken: NameServers = { ...all, resolve4: () => Promise.reject(refused) };
    const of = (one: NameServers) =>
      createResolver({ files: plain, clock: systemClock, servers: one }).resolve("gone.test", "a");
    await expect(of(all)).rejects.toMatchObject({ code: "ENOTFOUND" });
    await expect(of(broken)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("a real name server that is silent does not hold the threads of the process", async () => {
    const silent = createSocket("udp4");
    await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const real = new dns.Resolver({ timeout: 200, tries: 1 });
    real.setServers([`127.0.0.1:${port}`]);
    const files = readHostFiles("127.0.0.1 console.test", "");
    const resolver = createResolver({
      files,
      clock: systemClock,
      servers: real as unknown as NameServers,
    });
    const silenced = Array.from({ length: 8 }, (_, n) => resolver.resolve(`c${n}.test`, `${n}`));
    const ended = Promise.allSettled(silenced);
    expect((await readFile(import.meta.filename)).length).toBeGreaterThan(0);
    expect(await resolver.resolve("console.test", "team-a")).toEqual(["127.0.0.1"]);
    for (const { status } of await ended) expect(status).toBe("rejected");
    silent.close();
  });
});
