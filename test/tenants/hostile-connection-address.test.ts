/** A Connection that names this host, its links or the API server, to scan ports or to be served credentials. */
import { expect, test } from "vitest";
import { createAddressPolicy } from "../../src/http/address-policy.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { clientOf, failureOf } from "../unit/iam/clients.ts";
import { startHostileConsole } from "./hostile-console.ts";

const TOKEN = { credentials: { kind: "token", token: new Redacted("token") } } as const;
const POLICIES = { orgId: "o" };

/** A server on the loopback address, and how often somebody connected to it. */
async function startServer() {
  const seen = { connections: 0 };
  const url = await startHostileConsole(
    (_, response) => response.end("[]"),
    () => {
      seen.connections += 1;
    },
  );
  return { seen, port: new URL(url).port };
}

test.each(["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0"])(
  "no connection is made to a loopback address written as %s",
  async (host) => {
    const { seen, port } = await startServer();
    const target = { url: `http://${host}:${port}` };
    const client = clientOf(target, { ...TOKEN, addresses: createAddressPolicy() });
    expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({
      code: "Unavailable",
      sent: false,
      message: "listPolicies has no answer from the console: connections may not use this address",
    });
    expect(seen.connections).toBe(0);
    await clientOf(target, TOKEN).listPolicies(POLICIES);
    expect(seen.connections).toBe(1);
  },
);

test.each(["127.0.0.1", "localhost"])("%s can be allowed", async (host) => {
  const { port } = await startServer();
  const addresses = createAddressPolicy({ allowed: ["127.0.0.0/8"] });
  const client = clientOf({ url: `http://${host}:${port}` }, { ...TOKEN, addresses });
  expect(await client.listPolicies(POLICIES)).toEqual([]);
});

test("link-local, metadata and given addresses are refused, others are not", () => {
  const policy = createAddressPolicy({
    refused: ["10.96.0.1", "fd12::1"],
    allowed: ["169.254.7.0/24", "::1"],
  });
  const refused = [
    ...["127.8.8.8", "169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254"],
    ...["64:ff9b::7f00:1", "100.100.100.200", "10.96.0.1", "fd12::1"],
  ];
  expect(refused.filter((address) => !policy.refuses(address))).toEqual([]);
  const fine = ["10.0.0.7", "192.168.1.1", "10.96.0.2", "169.254.7.1", "::1", "2001:db8::1"];
  expect(fine.filter((address) => policy.refuses(address))).toEqual([]);
});

test.each([
  "",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/-1",
  "console.example",
  "fe80::/129",
  "1.2.3/8",
])("%j is no network", (network) => {
  expect(() => createAddressPolicy({ allowed: [network] })).toThrow(RangeError);
});
