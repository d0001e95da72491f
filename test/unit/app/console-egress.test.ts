import { expect, test } from "vitest";
import type { ApiServerAddresses } from "../../../src/app/api-server-addresses.ts";
import { connectionAddresses, egressFor } from "../../../src/app/console-egress.ts";
import { createAddressPolicy } from "../../../src/http/address-policy.ts";

const baseURL = "https://console.example.com";
const own = "http://proxy.team-a:3128";
const proxy = { https: "http://proxy:3128", http: "", none: "" };
const direct = { https: "", http: "", none: "" };
const addresses = createAddressPolicy();
const shared = "ClusterConnection/default";
const tenants = "Connection/team-a/own";
const anywhere = { proxy, connectionNetworks: [] };
const restricted = { proxy, connectionNetworks: ["10.0.0.0/8"] };

test("a refused address of a Connection names the flag and the value that allow it", () => {
  const apiServer = { current: () => [], refresh: async () => undefined };
  const { advice } = connectionAddresses(anywhere, apiServer as unknown as ApiServerAddresses);
  expect(advice).toMatch(/--connection-networks .*connections\.networks/);
});

test("the proxy of the environment leads to consoles, unless a connection names another", () => {
  for (const key of [shared, tenants])
    expect(egressFor(key, { baseURL }, anywhere, addresses)).toEqual({ proxy: proxy.https });
  expect(egressFor(shared, { baseURL, proxyURL: own }, anywhere, addresses)).toEqual({
    proxy: own,
  });
  expect(egressFor(shared, { baseURL }, restricted, addresses)).toEqual({ proxy: proxy.https });
});

test("without a proxy, the addresses of Connections are judged, and those of ClusterConnections are not", () => {
  const none = { proxy: direct, connectionNetworks: [] };
  expect(egressFor(tenants, { baseURL }, none, addresses)).toEqual({ addresses });
  expect(egressFor(shared, { baseURL }, none, addresses)).toEqual({});
});

test("a proxy that a Connection names is judged in place of the console", () => {
  for (const config of [anywhere, restricted])
    expect(egressFor(tenants, { baseURL, proxyURL: own }, config, addresses)).toEqual({
      addresses,
      proxy: own,
    });
});

test("a Connection does not get the proxy of the environment to a refused address, nor if networks are set", () => {
  expect(egressFor(tenants, { baseURL }, restricted, addresses)).toEqual({ addresses });
  for (const host of ["169.254.169.254", "[64:ff9b::a9fe:a9fe]"])
    expect(egressFor(tenants, { baseURL: `https://${host}` }, anywhere, addresses)).toEqual({
      addresses,
    });
});
