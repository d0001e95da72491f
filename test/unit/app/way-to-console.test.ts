import { expect, test } from "vitest";
import { connectionAddresses, wayTo } from "../../../src/app/way-to-console.ts";

const baseURL = "https://console.example.com";
const own = "http://proxy.team-a:3128";
const proxy = { https: "http://proxy:3128", http: "", none: "" };
const addresses = connectionAddresses({ connectionNetworks: [] }, "https://10.0.0.1");
const shared = "ClusterConnection/default";
const tenants = "Connection/team-a/own";

test("the proxy of the environment leads to consoles, unless a connection names another", () => {
  for (const key of [shared, tenants]) {
    expect(wayTo(key, { baseURL }, { proxy }, undefined)).toEqual({ proxy: proxy.https });
    expect(wayTo(key, { baseURL, proxyURL: own }, { proxy }, undefined)).toEqual({ proxy: own });
  }
});

test("where tenants are kept from addresses, theirs do not get it, and their own proxy is judged", () => {
  expect(wayTo(tenants, { baseURL }, { proxy }, addresses)).toEqual({ addresses });
  expect(wayTo(tenants, { baseURL, proxyURL: own }, { proxy }, addresses)).toEqual({
    addresses,
    proxy: own,
  });
  expect(wayTo(shared, { baseURL }, { proxy }, addresses)).toEqual({ proxy: proxy.https });
});
