import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { toError } from "../util/to-error.ts";
import { HttpError } from "./http.ts";
import { bareHost, longestPrefix, type Network, parseNetwork, untranslated } from "./networks.ts";

/** Which addresses a peer named by a tenant can have. */
export interface AddressPolicy {
  /** Whether connections to this IP address are forbidden. */
  refuses(address: string): boolean;
  /** To be awaited before a connection is made; a rejection forbids it. */
  readonly ready?: () => Promise<void>;
}

/** Loopback, link-local, and the addresses at which clouds serve the machine's own credentials. */
const LOCAL = [
  ...["0.0.0.0/8", "127.0.0.0/8", "::/128", "::1/128"],
  ...["169.254.0.0/16", "fe80::/10"],
  // Metadata and credentials: Alibaba, Oracle, Azure; Amazon's services of the machine, Google, Scaleway, Akamai.
  ...["100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"],
  ...["fd00:ec2::/32", "fd20:ce::254/128", "fd00:42::42/128", "fd00:a9fe:a9fe::/48"],
  // IPv6 addresses that gateways turn into IPv4 ones: IPv4-compatible, IPv4-translated, Teredo, 6to4, NAT64 with a local prefix.
  ...["::/96", "::ffff:0:0:0/96", "2001::/32", "2002::/16", "64:ff9b:1::/48"],
];

const EVERYWHERE = ["0.0.0.0/0", "::/0"];

export interface AddressLists {
  /** The only networks that can be reached; empty or absent: all. */
  readonly allowed?: readonly string[];
  /** Refused in addition to {@link LOCAL}, such as the API server's addresses; asked at every use. */
  readonly refused?: () => readonly string[];
  readonly ready?: () => Promise<void>;
}

/**
 * As in routing, the narrowest network of either list decides, and `allowed` wins if both are as narrow: `127.0.0.0/8`
 * opens loopback addresses, `0.0.0.0/0` does not. IPv4 addresses in IPv6 ones (mapped, or behind NAT64) count as the IPv4 addresses.
 * Lists hold IP addresses or networks in CIDR notation; throws a RangeError for anything else.
 */
export function createAddressPolicy(lists: AddressLists = {}): AddressPolicy {
  const given = (lists.allowed ?? []).map(networkOf);
  const allowed = given.length === 0 ? EVERYWHERE.map(networkOf) : given;
  const local = LOCAL.map(networkOf);
  const refused = () => [...local, ...(lists.refused?.() ?? []).map(networkOf)];
  return {
    refuses: (text) => {
      const address = untranslated(text);
      const opened = longestPrefix(allowed, address);
      return opened === undefined || opened < (longestPrefix(refused(), address) ?? 0);
    },
    ...(lists.ready === undefined ? {} : { ready: lists.ready }),
  };
}

function networkOf(text: string): Network {
  const network = parseNetwork(text);
  if (network !== undefined) return network;
  throw new RangeError(`${text} is not an IP address or a network in CIDR notation`);
}

/**
 * Connects to addresses that the policy allows. It is asked about the very address that is connected to, after
 * the name was resolved: a name that resolves to another address the next time gains nothing.
 */
export function guardedConnector(
  options: buildConnector.BuildOptions,
  policy: AddressPolicy,
): buildConnector.connector {
  const connect = buildConnector({ ...options, lookup: guardedLookup(policy) } as typeof options);
  const connectChecked: buildConnector.connector = (target, callback) => {
    const host = bareHost(target.hostname);
    // Addresses are not looked up.
    if (isIP(host) !== 0 && policy.refuses(host)) callback(refusal(), null);
    else connect(target, callback);
  };
  return (target, callback) => {
    if (policy.ready === undefined) connectChecked(target, callback);
    else
      policy.ready().then(
        () => connectChecked(target, callback),
        (error: unknown) => callback(toError(error), null),
      );
  };
}

function guardedLookup(policy: AddressPolicy): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const usable = found.filter(({ address }) => !policy.refuses(address));
      const [first] = usable;
      if (first === undefined) return callback(refusal(), []);
      if (options.all === true) callback(null, usable);
      else callback(null, first.address, first.family);
    });
}

function refusal(): HttpError {
  return new HttpError("refused", "connections must not use this address");
}
