import { type LookupAddress, lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { canonicalHost } from "../util/host.ts";
import { toError } from "../util/to-error.ts";
import { HttpError } from "./http.ts";
import { longestPrefix, type Network, parseNetwork, untranslated } from "./networks.ts";

/** The addresses that a host named by a tenant can have. */
export interface AddressPolicy {
  /** Whether connections to this IP address are forbidden. */
  refuses(address: string): boolean;
  /** Must be awaited before each connection; a rejection forbids the connection. */
  readonly ready?: () => Promise<void>;
  /** Who can allow an address, and how: follows the message about a refused address. */
  readonly advice?: string;
}

/** Loopback and link-local addresses, and the addresses where clouds serve the machine's credentials. */
const LOCAL = [
  ...["0.0.0.0/8", "127.0.0.0/8", "::/128", "::1/128"],
  ...["169.254.0.0/16", "fe80::/10"],
  // Metadata and credentials: Alibaba, Oracle, Azure; Amazon's instance services, Google, Scaleway, Akamai.
  ...["100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"],
  ...["fd00:ec2::/32", "fd20:ce::254/128", "fd00:42::42/128", "fd00:a9fe:a9fe::/48"],
  // IPv6 that gateways translate to IPv4: IPv4-compatible, IPv4-translated, Teredo, 6to4, NAT64 with a local prefix.
  ...["::/96", "::ffff:0:0:0/96", "2001::/32", "2002::/16", "64:ff9b:1::/48"],
];

const EVERYWHERE = ["0.0.0.0/0", "::/0"];

export interface AddressLists {
  /** The only networks that can be reached; empty or absent: all. */
  readonly allowed?: readonly string[];
  /** Refused in addition to {@link LOCAL}, for example the API server's addresses. Called at every use. */
  readonly refused?: () => readonly string[];
  readonly ready?: () => Promise<void>;
  readonly advice?: string;
}

/**
 * As in routing, the narrowest matching network of both lists decides; `allowed` wins if both networks are equally
 * narrow: `127.0.0.0/8` allows loopback addresses, `0.0.0.0/0` does not. An IPv4 address inside an IPv6 address
 * (mapped, or with NAT64) counts as the IPv4 address. The lists contain IP addresses or networks in CIDR notation;
 * throws a RangeError for anything else.
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
    ...(lists.advice === undefined ? {} : { advice: lists.advice }),
  };
}

function networkOf(text: string): Network {
  const network = parseNetwork(text);
  if (network !== undefined) return network;
  throw new RangeError(`${text} is not an IP address or a network in CIDR notation`);
}

/**
 * Connects only to addresses that the policy allows. The policy checks the resolved address of the connection itself,
 * so a name that resolves to a different address the next time cannot bypass it.
 */
export function guardedConnector(
  options: buildConnector.BuildOptions,
  policy: AddressPolicy,
  resolve: LookupFunction = lookup as LookupFunction,
): buildConnector.connector {
  const connect = buildConnector({
    ...options,
    lookup: guardedLookup(policy, resolve),
  } as typeof options);
  const connectChecked: buildConnector.connector = (target, callback) => {
    const host = canonicalHost(target.hostname);
    // IP addresses are not looked up, so check them here.
    if (isIP(host) !== 0 && policy.refuses(host)) callback(refusal(policy), null);
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

function guardedLookup(policy: AddressPolicy, resolve: LookupFunction): LookupFunction {
  return (hostname, options, callback) =>
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const found = addresses as readonly LookupAddress[];
      const usable = found.filter(({ address }) => !policy.refuses(address));
      const [first] = usable;
      if (first === undefined) return callback(refusal(policy), []);
      if (options.all === true) callback(null, usable);
      else callback(null, first.address, first.family);
    });
}

function refusal({ advice = "" }: AddressPolicy): HttpError {
  return new HttpError("forbidden", `connections must not use this address${advice}`);
}
