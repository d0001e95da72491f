/** Arguments that name objects, as kubectl takes them: KIND/NAME, KIND NAME..., or a NAME that only one object has. */

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

/** What the words of a command line name, before anything is read: objects, or names of which the kind is open. */
export type GivenName = ObjectName | string;

/** Throws UsageError for what names no object. */
export function parseNames(args: readonly string[]): readonly GivenName[] {
  const [first = "", ...names] = args;
  const kind = first.includes("/") ? undefined : findKind(first);
  if (kind !== undefined && names.length > 0)
    return names.map((name) => parseObjectName(name, kind));
  return args.map((arg) => (arg.includes("/") ? parseObjectName(arg) : checkName(arg)));
}

/** Rejects with UsageError for a name that several objects have, and with Failure for one that none has. */
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
