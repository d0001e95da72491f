/** A Connection that names this host, its links or the API server, to scan ports or to be served credentials. */
import { expect, test } from "vitest";
import { createApiServerAddresses } from "../../src/app/api-server-addresses.ts";
import { connectionAddresses } from "../../src/app/console-egress.ts";
import { type AddressLists, createAddressPolicy } from "../../src/http/address-policy.ts";
import { KubeError } from "../../src/kube/errors.ts";
import type { EndpointSlice } from "../../src/kube/resource-types.ts";
import { type Log, silentLog } from "../../src/util/log.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { MINUTE } from "../../src/util/time.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { startWeb } from "../support/local-server.ts";
import { clientOf, failureOf } from "../unit/console/clients.ts";

const TOKEN = { credentials: { kind: "token", token: new Redacted("token") } } as const;
const POLICIES = { orgId: "o" };

/** A server on the loopback address, and how often somebody connected to it. */
async function startServer() {
  const { url, connections } = await startWeb((_, response) => response.end("[]"));
  return { connections, port: new URL(url).port };
}

test.each(["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0"])(
  "no connection is made to a loopback address written as %s",
  async (host) => {
    const { connections, port } = await startServer();
    const target = { url: `http://${host}:${port}` };
    const client = clientOf(target, { ...TOKEN, addresses: createAddressPolicy() });
    expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({
      code: "Unavailable",
      sent: false,
      message: "listPolicies was not sent: connections must not use this address",
    });
    expect(connections()).toBe(0);
    await clientOf(target, TOKEN).listPolicies(POLICIES);
    expect(connections()).toBe(1);
  },
);

test.each(["127.0.0.1", "localhost"])("%s can be allowed", async (host) => {
  const { port } = await startServer();
  const addresses = createAddressPolicy({ allowed: ["127.0.0.0/8"] });
  const client = clientOf({ url: `http://${host}:${port}` }, { ...TOKEN, addresses });
  expect(await client.listPolicies(POLICIES)).toEqual([]);
});

/** Each of these is this machine, its links, or where a cloud or Kubernetes gives out credentials. */
const REFUSED = [
  ...[
    "0.0.0.0",
    "127.0.0.1",
    "127.8.8.8",
    "::",
    "::1",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
  ],
  ...[
    "fe80::1",
    "fe80::1%eth0",
    "FE80::A9FE:A9FE",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
  ],
  ...["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fd00:a9fe:a9fe::1"],
];
/** IPv4 addresses in IPv6 ones: mapped, translated, compatible, 6to4, Teredo, NAT64 with either prefix. */
const EMBEDDED = [
  ...["::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::ffff:0:127.0.0.1", "::127.0.0.1", "::a9fe:a9fe"],
  ...[
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:7f00:1::",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
  ],
  ...[
    "64:ff9b::a83f:8110",
    "64:ff9b::",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1:fffe::a9fe:a9fe",
    "64:ff9b:1:7f00:0:100::",
  ],
];
const PRIVATE = [
  ...[
    "10.0.0.7",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "fd12::1",
    "fd00:ec3::1",
    "2001:db8::1",
  ],
  ...["203.0.113.7", "::ffff:10.0.0.7", "64:ff9b::a00:7"],
];
const refusedBy = (lists: AddressLists, addresses: readonly string[]) => {
  const policy = createAddressPolicy(lists);
  return addresses.filter((address) => policy.refuses(address));
};

test("loopback, link-local and metadata addresses are refused in every spelling, private networks are not", () => {
  expect(refusedBy({}, [...REFUSED, ...EMBEDDED])).toEqual([...REFUSED, ...EMBEDDED]);
  expect(refusedBy({}, PRIVATE)).toEqual([]);
});

test("listed networks are the only ones, and open refused addresses only if they are at least as narrow", () => {
  const refused = () => ["10.96.0.1", "172.16.0.10"];
  const wide = { allowed: ["0.0.0.0/0", "::/0"], refused };
  expect(refusedBy(wide, [...REFUSED, ...EMBEDDED, "10.96.0.1"])).toEqual([
    ...REFUSED,
    ...EMBEDDED,
    "10.96.0.1",
  ]);
  expect(refusedBy(wide, PRIVATE)).toEqual([]);
  const some = { allowed: ["10.0.0.0/8", "169.254.7.0/24", "::1", "172.16.0.10"], refused };
  const reached = [
    "10.0.0.7",
    "::ffff:10.0.0.7",
    "64:ff9b::a00:7",
    "169.254.7.1",
    "::1",
    "172.16.0.10",
  ];
  expect(refusedBy(some, reached)).toEqual([]);
  const others = [
    "10.96.0.1",
    "::ffff:10.96.0.1",
    "64:ff9b::a60:1",
    "169.254.8.1",
    "172.16.0.11",
    "203.0.113.7",
  ];
  expect(refusedBy(some, others)).toEqual(others);
});

test("every address of the API server is refused: its Service, its endpoints and its name in a kubeconfig", async () => {
  const { policy, asked, clock } = apiServerPolicy({
    get: () => slice("192.0.2.10", "192.0.2.11"),
  });
  expect(policy.refuses("10.96.0.1")).toBe(true);
  await policy.ready?.();
  await policy.ready?.();
  const all = ["10.96.0.1", "192.0.2.10", "192.0.2.11", "198.51.100.4", "64:ff9b::c000:20a"];
  expect(all.filter((address) => !policy.refuses(address))).toEqual([]);
  expect(policy.refuses("192.0.2.12")).toBe(false);
  expect(asked).toHaveLength(1);
  await clock.advance(10 * MINUTE);
  await policy.ready?.();
  expect(asked).toHaveLength(2);
});

test("no connection is made while the API server's addresses are unknown, and failures keep known ones", async () => {
  let answer: () => EndpointSlice | undefined = () => {
    throw new KubeError("Unavailable", "down");
  };
  const { policy, clock } = apiServerPolicy({ get: () => answer() });
  const { connections, port } = await startServer();
  const client = clientOf({ url: `http://127.0.0.1:${port}` }, { ...TOKEN, addresses: policy });
  expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({ sent: false });
  expect(connections()).toBe(0);
  answer = () => slice("192.0.2.10");
  await policy.ready?.();
  answer = () => {
    throw new KubeError("Unavailable", "down");
  };
  await clock.advance(10 * MINUTE);
  await policy.ready?.();
  expect(policy.refuses("192.0.2.10")).toBe(true);
});

test("without the permission to read its endpoints, the Service address is refused, and one line says so", async () => {
  const lines: string[] = [];
  const log = { ...silentLog, info: (_: object, message: string) => lines.push(message) };
  const get = () => {
    throw new KubeError("Forbidden", "no");
  };
  const { policy, clock } = apiServerPolicy({ get, log });
  await policy.ready?.();
  await clock.advance(10 * MINUTE);
  await policy.ready?.();
  expect(policy.refuses("10.96.0.1")).toBe(true);
  expect(lines).toHaveLength(1);
});

const slice = (...addresses: readonly string[]): EndpointSlice => ({
  metadata: { name: "kubernetes", namespace: "default" },
  endpoints: addresses.map((address) => ({ addresses: [address] })),
});

function apiServerPolicy({
  get,
  log = silentLog,
}: {
  get: () => EndpointSlice | undefined;
  log?: Log;
}) {
  const clock = createFakeClock();
  const asked: unknown[] = [];
  const apiServer = createApiServerAddresses({
    hosts: ["10.96.0.1", "api.example.com"],
    kube: {
      get: async (_, key) => {
        asked.push(key);
        return get() as never;
      },
    },
    clock,
    log,
    resolve: async () => ["198.51.100.4"],
  });
  const policy = connectionAddresses({ connectionNetworks: [] }, apiServer);
  return { policy, asked, clock };
}

test.each([
  "",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/-1",
  "console.example",
  "fe80::/129",
  "1.2.3/8",
])("%j is not a network", (network) => {
  expect(() => createAddressPolicy({ allowed: [network] })).toThrow(RangeError);
});
