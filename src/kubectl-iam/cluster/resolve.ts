/** Arguments that name objects, KIND/NAME, or a NAME that only one object has. */

import type { KindName } from "../../api/kinds.ts";
import { Failure, UsageError } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { type Cluster, notFound, scopeOf } from "./cluster.ts";
import {
  type AnyObject,
  checkName,
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
  return allOf(cluster, given, await findNames(cluster, given));
}

/** `undefined` for a name that no object has. */
async function findNames(
  cluster: Cluster,
  given: readonly GivenName[],
): Promise<readonly (ObjectName | undefined)[]> {
  if (given.every((name) => typeof name !== "string")) return given as readonly ObjectName[];
  const objects = objectsOf((await readWorld(cluster, cluster.namespace)).world);
  return given.map((name) => (typeof name === "string" ? only(objects, name) : name));
}

/** Each object once, however often it is named. */
async function readGiven(
  cluster: Cluster,
  given: readonly GivenName[],
): Promise<readonly AnyObject[]> {
  const objects = (await findNames(cluster, given)).map(async (name) => {
    if (name === undefined) return undefined;
    const type = typeOf(name.kind);
    const namespace = type.namespaced ? cluster.namespace : "";
    return (await cluster.kube.get(type, { namespace, name: name.name })) as AnyObject | undefined;
  });
  const found = allOf(cluster, given, await Promise.all(objects));
  return [...new Map(found.map((object) => [nameOf(object), object])).values()];
}

/** What was found for each name. Throws Failure with every name for which nothing was found. */
function allOf<Found>(
  { namespace }: Cluster,
  given: readonly GivenName[],
  found: readonly (Found | undefined)[],
): readonly Found[] {
  const missing = given.filter((_, index) => found[index] === undefined);
  if (missing.length === 0) return found as readonly Found[];
  const names = missing.map((name) =>
    typeof name === "string" ? `object called ${name}` : toText(name),
  );
  const isInNamespace = missing.some(
    (name) => typeof name === "string" || typeOf(name.kind).namespaced,
  );
  throw notFound(names.join(", "), isInNamespace ? namespace : "");
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
