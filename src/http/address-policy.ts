import { lookup } from "node:dns";
import { type BlockList, isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { HttpError } from "./http.ts";
import { bareHost, familyOf, type Network, networkList, parseNetwork } from "./networks.ts";

/** Which addresses a peer may have that somebody else names. */
export interface AddressPolicy {
  /** Whether no connection may be made to this IP address. */
  refuses(address: string): boolean;
}

/** This host, its links, and where clouds serve the machine's own credentials; also as translated to IPv6. */
const NEVER = [
  ...["0.0.0.0/8", "127.0.0.0/8", "::/128", "::1/128"],
  ...["169.254.0.0/16", "fe80::/10", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128"],
  ...["64:ff9b::7f00:0/104", "64:ff9b::a9fe:0/112"],
];

/**
 * Refuses loopback, link-local and metadata addresses, and those of `refused` (such as the API server's), unless
 * a network of `allowed` has them. Both lists hold IP addresses or networks in CIDR notation. Throws a RangeError
 * for anything else.
 */
export function createAddressPolicy(
  lists: { readonly allowed?: readonly string[]; readonly refused?: readonly string[] } = {},
): AddressPolicy {
  const allowed = blockList(lists.allowed ?? []);
  const refused = blockList([...NEVER, ...(lists.refused ?? [])]);
  return {
    refuses: (address) => {
      const family = familyOf(address);
      return refused.check(address, family) && !allowed.check(address, family);
    },
  };
}

function blockList(networks: readonly string[]): BlockList {
  return networkList(networks.map(networkOf));
}

function networkOf(text: string): Network {
  const network = parseNetwork(text);
  if (network !== undefined) return network;
  throw new RangeError(`${text} is neither an IP address nor a network in CIDR notation`);
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
  return (target, callback) => {
    const host = bareHost(target.hostname);
    // Addresses are not looked up.
    if (isIP(host) !== 0 && policy.refuses(host)) callback(refusal(), null);
    else connect(target, callback);
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
  return new HttpError("refused", "connections may not use this address");
}
