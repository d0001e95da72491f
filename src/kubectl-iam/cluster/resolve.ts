/** Arguments that name objects, in kubectl's forms: KIND/NAME, KIND NAME..., or a NAME that only one object has. */

import type { KindName } from "../../api/kinds.ts";
import { UsageError } from "../cli/errors.ts";
import { type Cluster, notFound } from "./cluster.ts";
import {
  type AnyObject,
  checkName,
  findKind,
  type ObjectName,
  parseObjectName,
  toText,
} from "./kinds.ts";
import { objectsOf, readWorld } from "./read.ts";

/** What a command line names before anything is read: an object, or a name without a kind. */
export type GivenName = ObjectName | string;

/** Throws UsageError if an argument cannot name an object. */
export function parseNames(args: readonly string[]): readonly GivenName[] {
  const [first = "", ...names] = args;
  const kind = first.includes("/") ? undefined : findKind(first);
  if (kind !== undefined && names.length > 0)
    return names.map((name) => parseObjectName(name, kind));
  return args.map((arg) => (arg.includes("/") ? parseObjectName(arg) : checkName(arg)));
}

/** Rejects with UsageError if several objects have a name, and with Failure if no object has it. */
export async function resolveNames(
  cluster: Cluster,
  given: readonly GivenName[],
): Promise<readonly ObjectName[]> {
  if (given.every((name) => typeof name !== "string")) return given as readonly ObjectName[];
  const objects = objectsOf((await readWorld(cluster, cluster.namespace)).world);
  return given.map((name) => (typeof name === "string" ? only(cluster, objects, name) : name));
}

function only({ namespace }: Cluster, objects: readonly AnyObject[], name: string): ObjectName {
  const found = objects
    .filter(({ metadata }) => metadata.name === name)
    .map(({ kind }) => ({ kind: kind as KindName, name }));
  const [first, ...others] = found;
  if (first === undefined) throw notFound(`object called ${name}`, namespace);
  if (others.length === 0) return first;
  throw new UsageError(
    `${name} is the name of ${found.map(toText).join(" and ")}: use one of these`,
  );
}
