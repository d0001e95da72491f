/**
 * Resolves names without the process's thread pool, whose four threads a name server that never answers would hold:
 * no other name could be resolved and no file be read until it gave up.
 */
import { promises as dns } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Semaphore } from "../util/semaphore.ts";
import { type Clock, type Instant, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { candidatesFor, type HostFiles } from "./host-files.ts";

/** Asks name servers. */
export interface NameServers {
  resolve4(name: string, options: { readonly ttl: true }): Promise<readonly DnsRecord[]>;
  resolve6(name: string, options: { readonly ttl: true }): Promise<readonly DnsRecord[]>;
}

interface DnsRecord {
  readonly address: string;
  /** In seconds. */
  readonly ttl: number;
}

/** Resolves a name for `net.connect`. */
export type Lookup = LookupFunction;

interface ResolverOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** The name servers of /etc/resolv.conf by default. */
  readonly servers?: NameServers;
}

export interface NameResolver {
  /** All addresses of a name, IPv4 first; rejects if it has none. At most four names of an owner are asked at a time. */
  resolve(name: string, owner: string): Promise<readonly string[]>;
  /** The same for `net.connect`. */
  lookupFor(owner: string): Lookup;
}

const NAMES_OF_OWNER = 4;
/** A name server gets two seconds, and again two if it does not answer. */
const ANSWER = { timeout: 2 * SECOND, tries: 2, maxTimeout: 2 * SECOND };
const LONGEST_KEPT_MS = 30 * SECOND;
const MOST_KEPT = 1_000;

/** Names are searched as in a C library: /etc/hosts, then DNS in the domains of /etc/resolv.conf. */
export function createResolver({ files, clock, servers }: ResolverOptions): NameResolver {
  const asked = servers ?? new dns.Resolver(ANSWER);
  const slots = new Map<string, { readonly semaphore: Semaphore; users: number }>();
  const running = new Map<string, Promise<Found>>();
  const kept = new Map<string, Found>();

  const ask = async (name: string): Promise<Found> => {
    const found = await searchName(name, files, asked, clock);
    for (const oldest of kept.keys()) if (kept.size >= MOST_KEPT) kept.delete(oldest);
    kept.set(name, found);
    return found;
  };
  const inTurn = async <T>(owner: string, work: () => Promise<T>): Promise<T> => {
    const slot = slots.get(owner) ?? { semaphore: new Semaphore(NAMES_OF_OWNER), users: 0 };
    slots.set(owner, slot);
    slot.users += 1;
    return slot.semaphore.run(work).finally(() => {
      slot.users -= 1;
      if (slot.users === 0) slots.delete(owner);
    });
  };
  const resolve = async (given: string, owner: string): Promise<readonly string[]> => {
    const name = given.toLowerCase();
    const listed = files.hosts.get(name.replace(/\.$/, ""));
    if (listed !== undefined) return listed;
    const known = kept.get(name);
    if (known !== undefined && clock.monotonic() < known.until) return known.addresses;
    // By owner: an owner must not wait for names of another.
    const place = `${owner} ${name}`;
    const asking =
      running.get(place) ??
      inTurn(owner, () => ask(name)).finally(() => {
        running.delete(place);
      });
    running.set(place, asking);
    return (await asking).addresses;
  };
  return { resolve, lookupFor: (owner) => toLookup((name) => resolve(name, owner)) };
}

interface Found {
  readonly addresses: readonly string[];
  /** In milliseconds of the monotonic clock. */
  readonly until: Instant;
}

/** The addresses of the first candidate that has any. */
async function searchName(
  name: string,
  files: HostFiles,
  servers: NameServers,
  clock: Clock,
): Promise<Found> {
  let failure: unknown;
  for (const candidate of candidatesFor(name, files)) {
    const answers = await Promise.allSettled([
      servers.resolve4(candidate, { ttl: true }),
      servers.resolve6(candidate, { ttl: true }),
    ]);
    const records = answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    if (records.length > 0) {
      const ttlMs = Math.min(...records.map(({ ttl }) => ttl)) * SECOND;
      const until = clock.monotonic() + Math.min(ttlMs, LONGEST_KEPT_MS);
      return { addresses: records.map(({ address }) => address), until };
    }
    // That a server gave no answer says more than that a name does not exist.
    for (const each of answers)
      if (each.status === "rejected" && (failure === undefined || !isAbsence(each.reason)))
        failure = each.reason;
  }
  throw toError(failure);
}

function isAbsence(error: unknown): boolean {
  const { code } = toError(error) as NodeJS.ErrnoException;
  return code === "ENOTFOUND" || code === "ENODATA";
}

function toLookup(resolve: (name: string) => Promise<readonly string[]>): Lookup {
  return (name, { all, family }, callback) => {
    const isWanted = (address: string) =>
      family === undefined || family === 0 || isIP(address) === Number(String(family).slice(-1));
    resolve(name).then(
      (addresses) => {
        const found = addresses
          .filter(isWanted)
          .map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (first === undefined) callback(notFound(name), []);
        else if (all === true) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(toError(error), []),
    );
  };
}

function notFound(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address was found for ${name}`), { code: "ENOTFOUND" });
}
