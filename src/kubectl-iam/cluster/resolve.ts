/** Arguments that name objects, in kubectl's forms: KIND/NAME, KIND NAME..., or a NAME that only one object has. */

import type { KindName } from "../../api/kinds.ts";
import { Failure, UsageError } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { type Cluster, notFound, scopeOf } from "./cluster.ts";
import {
  type AnyObject,
  checkName,
  findKind,
  type ObjectName,
  parseObjectName,
  toText,
  typeOf,
} from "./kinds.ts";
import { notListable, objectsOf, readObject, readWorld, unlessForbidden } from "./read.ts";

/** What a command line names before anything is read: an object, or a name without a kind. */
type GivenName = ObjectName | string;

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
  if (given.length > 0)
    return Promise.all(
      (await resolveNames(cluster, given)).map(
        ({ kind, name }) => readObject(cluster, kind, name) as Promise<AnyObject>,
      ),
    );
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
