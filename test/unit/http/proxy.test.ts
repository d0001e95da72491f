import { describe, expect, test } from "vitest";
import { proxyFor, readProxyEnvironment } from "../../../src/http/proxy.ts";

const environment = { https: "http://proxy:3128", http: "http://plain:3128", none: "" };
const withNone = (none: string) => ({ ...environment, none });

test("each scheme has its own proxy, and this machine none", () => {
  expect(proxyFor("https://console.example.com", environment)).toBe("http://proxy:3128");
  expect(proxyFor("http://console.example.com", environment)).toBe("http://plain:3128");
  expect(proxyFor("https://console.example.com", { ...environment, https: "" })).toBeUndefined();
  for (const host of ["localhost", "127.1.2.3", "[::1]"])
    expect(proxyFor(`https://${host}:8443`, environment)).toBeUndefined();
});

test("the variables count in either case, and empty ones not", () => {
  expect(
    readProxyEnvironment({
      HTTPS_PROXY: "",
      https_proxy: "http://a",
      NO_PROXY: "b",
      http_proxy: "http://c",
    }),
  ).toEqual({ https: "http://a", http: "http://c", none: "b" });
});

describe("NO_PROXY", () => {
  test.each([
    ["*", "https://console.example.com"],
    ["example.com", "https://example.com"],
    ["example.com", "https://console.EXAMPLE.com"],
    [".example.com", "https://console.example.com"],
    ["*.example.com", "https://a.console.example.com"],
    ["other.org, console.example.com", "https://console.example.com"],
    ["console.example.com:443", "https://console.example.com"],
    ["10.0.0.0/8", "https://10.1.2.3"],
    ["10.1.2.3", "https://10.1.2.3:8443"],
    ["fd00::/8", "https://[fd00::1]"],
    ["fd00::1", "https://[fd00::1]"],
    ["[fd00::1]:8443", "https://[fd00::1]:8443"],
  ])("%s excepts %s", (none, url) => {
    expect(proxyFor(url, withNone(none))).toBeUndefined();
  });

  test.each([
    ["", "https://console.example.com"],
    [".example.com", "https://example.com"],
    ["example.com", "https://notexample.com"],
    ["console.example.com:8443", "https://console.example.com"],
    ["10.0.0.0/8", "https://11.1.2.3"],
    ["10.0.0.0/8", "https://10.example.com"],
    ["10.0.0.0/99", "https://10.1.2.3"],
    ["10.0.0.0/8.5", "https://10.1.2.3"],
    ["0.0.0.0/0", "https://[fd00::1]"],
    ["example.com/24", "https://example.com"],
  ])("%j does not except %s", (none, url) => {
    expect(proxyFor(url, withNone(none))).toBe("http://proxy:3128");
  });
});
