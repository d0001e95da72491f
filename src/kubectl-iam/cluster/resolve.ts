/** Arguments that name objects, KIND/NAME, or a NAME that only one object has. */

import type { KindName } from "../../api/kinds.ts";
import { Failure, UsageError } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { type Cluster, notFound, scopeOf } from "./cluster.ts";
import {
  type AnyObject,
  checkName,
  kindOf,
  nameOf,
  type ObjectName,
  parseObjectName,
  toText,
  typeOf,
} from "./kinds.ts";
import { notListable, objectsOf, readWorld, unlessForbidden } from "./read.ts";

/** What a command line names before anything is read: an object, or a name without a kind. */
type GivenName = ObjectName | string;

/** Throws UsageError if an argument cannot name an object. */
export function parseNames(args: readonly string[]): readonly GivenName[] {
  return args.map((arg) => (arg.includes("/") ? parseObjectName(arg) : checkName(arg)));
}

/** Rejects with UsageError if several objects have a name, and with Failure if no object has one of the names. */
export async function resolveNames(
  cluster: Cluster,
  given: readonly GivenName[],
): Promise<readonly ObjectName[]> {
  const { found, unreadable } = await findNames(cluster, given);
  return allOf(cluster, given, found, unreadable);
}

interface Names {
  /** `undefined` for a name that no object has. */
  readonly found: readonly (ObjectName | undefined)[];
  /** Kinds in which a name without a kind was not searched. */
  readonly unreadable: readonly KindName[];
}

async function findNames(cluster: Cluster, given: readonly GivenName[]): Promise<Names> {
  if (given.every((name) => typeof name !== "string")) return { found: given, unreadable: [] };
  const { world, unreadable } = await readWorld(cluster, cluster.namespace);
  const objects = objectsOf(world);
  const found = given.map((name) => (typeof name === "string" ? only(objects, name) : name));
  return { found, unreadable };
}

/** Each object once, however often it is named. */
async function readGiven(
  cluster: Cluster,
  given: readonly GivenName[],
): Promise<readonly AnyObject[]> {
  const { found: names, unreadable } = await findNames(cluster, given);
  const objects = names.map(async (name) => {
    if (name === undefined) return undefined;
    const type = typeOf(name.kind);
    const namespace = type.namespaced ? cluster.namespace : "";
    return (await cluster.kube.get(type, { namespace, name: name.name })) as AnyObject | undefined;
  });
  const found = allOf(cluster, given, await Promise.all(objects), unreadable);
  return [...new Map(found.map((object) => [nameOf(object), object])).values()];
}

/** What was found for each name. Throws Failure with every name for which nothing was found. */
function allOf<Found>(
  { namespace }: Cluster,
  given: readonly GivenName[],
  found: readonly (Found | undefined)[],
  unreadable: readonly KindName[],
): readonly Found[] {
  const missing = given.filter((_, index) => found[index] === undefined);
  if (missing.length === 0) return found as readonly Found[];
  const names = missing.map((name) =>
    typeof name === "string" ? `object called ${name}` : toText(name),
  );
  const isInNamespace = missing.some(
    (name) => typeof name === "string" || typeOf(name.kind).namespaced,
  );
  const { message } = notFound(names.join(", "), isInNamespace ? namespace : "");
  const plurals = unreadable.map((kind) => kindOf(kind).plural);
  throw new Failure(
    plurals.length === 0
      ? message
      : `${message} You do not have permission to list ${plurals.join(", ")}.`,
  );
}

function only(objects: readonly AnyObject[], name: string): ObjectName | undefined {
  const found = objects
    .filter(({ metadata }) => metadata.name === name)
    .map(({ kind }) => ({ kind: kind as KindName, name }));
  const [first, ...others] = found;
  if (first === undefined || others.length === 0) return first;
  throw new UsageError(
    `${name} is the name of ${found.map(toText).join(" and ")}: use one of these`,
  );
}

/**
 * The objects that the command line names, or that its selector matches. Throws UsageError if it has neither or both,
 * Failure if no object matches, and KubeError if a kind cannot be listed: a change for all objects skips none of them.
 */
export async function selectObjects(
  cluster: Cluster,
  given: readonly GivenName[],
  selectorKinds: readonly KindName[],
  options: Options,
): Promise<readonly AnyObject[]> {
  const { selector, allNamespaces, all } = options;
  if (given.length > 0 && (selector !== undefined || allNamespaces || all))
    throw new UsageError("give either names, or --all or --selector to select objects");
  if (given.length === 0 && selector === undefined && !all)
    throw new UsageError("name at least one object, or select objects with --all or -l team=a");
  if (given.length > 0) return await readGiven(cluster, given);
  const namespace = scopeOf(cluster, options);
  const unlisted: KindName[] = [];
  const lists = await Promise.all(
    selectorKinds.map(async (kind) => {
      const listing = cluster.kube.list(typeOf(kind) as never, {
        namespace,
        labelSelector: selector,
      });
      const found = await unlessForbidden(listing);
      if (found === undefined) unlisted.push(kind);
      return found ?? [];
    }),
  );
  if (unlisted.length > 0) throw notListable(unlisted, namespace, undefined);
  const objects = lists.flat() as readonly AnyObject[];
  if (objects.length > 0) return objects;
  const where = namespace === undefined ? "any namespace" : `namespace ${namespace}`;
  throw new Failure(
    `No objects match in ${where}: kubectl iam status -A lists the objects of all namespaces.`,
  );
}
