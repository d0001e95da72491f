/** IP addresses, networks in CIDR notation, and hosts as URLs write them. Pure. */
import { BlockList, isIP } from "node:net";

export interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** `undefined` for what is neither an IP address nor a network in CIDR notation. */
export function parseNetwork(text: string): Network | undefined {
  const [address = "", bits] = text.split("/");
  const family = familyOf(address);
  const longest = family === "ipv6" ? 128 : 32;
  const prefix = bits === undefined ? longest : Number(bits || Number.NaN);
  const isPrefix = Number.isInteger(prefix) && prefix >= 0 && prefix <= longest;
  return isIP(address) !== 0 && isPrefix ? { address, prefix, family } : undefined;
}

export function networkList(networks: readonly Network[]): BlockList {
  const list = new BlockList();
  for (const { address, prefix, family } of networks) list.addSubnet(address, prefix, family);
  return list;
}

export function familyOf(address: string): Network["family"] {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** The host of a URL, an IPv6 address without its brackets. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
