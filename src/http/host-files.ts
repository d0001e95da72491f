/** What a machine's files say about names. Pure. */
import { isIP } from "node:net";

export interface HostFiles {
  /** Addresses by name in lower case, from /etc/hosts. */
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  /** The domains in which a relative name is searched, from /etc/resolv.conf. */
  readonly search: readonly string[];
  /** A name with at least this many dots is tried as it is first. */
  readonly ndots: number;
}

/** The machine itself, if /etc/hosts does not name it. */
const LOCALHOST = ["127.0.0.1", "::1"];

/** Lines and options that are not understood are left out. */
export function readHostFiles(hostsFile: string, resolvConf: string): HostFiles {
  const hosts = new Map<string, string[]>([["localhost", []]]);
  for (const [address = "", ...names] of fieldsOf(hostsFile))
    if (isIP(address) !== 0)
      for (const name of names.map((each) => each.toLowerCase()))
        hosts.set(name, [...(hosts.get(name) ?? []), address]);
  if (hosts.get("localhost")?.length === 0) hosts.set("localhost", LOCALHOST);
  let search: readonly string[] = [];
  let ndots = 1;
  for (const [word, ...values] of fieldsOf(resolvConf)) {
    if (word === "search" || word === "domain") search = values;
    if (word === "options")
      for (const value of values) ndots = Number(/^ndots:(\d+)$/.exec(value)?.[1] ?? ndots);
  }
  return { hosts, search: search.map((domain) => domain.replace(/\.$/, "")), ndots };
}

/** The absolute names to try for a name, in the order of a C library. */
export function candidatesFor(name: string, { search, ndots }: HostFiles): readonly string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  const searched = search.filter((domain) => domain !== "").map((domain) => `${name}.${domain}`);
  const dots = name.split(".").length - 1;
  return dots >= ndots ? [name, ...searched] : [...searched, name];
}

function fieldsOf(text: string): readonly (readonly string[])[] {
  return text
    .split("\n")
    .map((line) => line.replace(/[#;].*/, "").trim())
    .filter((line) => line !== "")
    .map((line) => line.split(/\s+/));
}
