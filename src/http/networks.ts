/** IP addresses, networks in CIDR notation, and hosts in the form of URLs. Pure. */
import { BlockList, isIP } from "node:net";
import { bareHost } from "../util/host.ts";

export interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** `undefined` if the text is neither an IP address nor a network in CIDR notation. */
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

/** The prefix of the narrowest network that contains the address; `undefined` if no network contains it. */
export function longestPrefix(networks: readonly Network[], address: string): number | undefined {
  const family = familyOf(address);
  const having = networks.filter(
    (network) => network.family === family && networkList([network]).check(address, family),
  );
  return having.length === 0 ? undefined : Math.max(...having.map(({ prefix }) => prefix));
}

/** The IPv4 address inside an IPv6 address (mapped, or with the well-known NAT64 prefix); other addresses: the same. */
export function untranslated(address: string): string {
  const [bare = ""] = address.split("%");
  if (isIP(bare) !== 6) return bare;
  const canonical = bareHost(new URL(`http://[${bare}]`).hostname);
  const [, high = "0", low] =
    /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical) ??
    /^64:ff9b::(?:([0-9a-f]+):)?([0-9a-f]*)$/.exec(canonical) ??
    [];
  if (low === undefined) return canonical;
  const groups = [high, low].map((group) => Number.parseInt(group || "0", 16));
  return groups.flatMap((group) => [group >> 8, group & 0xff]).join(".");
}

export function familyOf(address: string): Network["family"] {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
