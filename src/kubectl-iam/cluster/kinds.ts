/** The operator's kinds, by the names that the API server and users use. */
import type { Condition } from "../../api/conditions.ts";
import type { Kind } from "../../api/kind.ts";
import { type KindName, type Kinds, kinds } from "../../api/kinds.ts";
import { API_VERSION, GROUP, VERSION } from "../../api/meta.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { UsageError } from "../cli/errors.ts";

/** Fields of every custom resource of the operator. */
export interface AnyObject extends KubeObject {
  readonly kind: string;
  readonly spec?: { readonly suspend?: boolean | undefined };
  readonly status?:
    | {
        readonly conditions?: readonly Condition[] | undefined;
        readonly observedGeneration?: number | undefined;
        readonly lastHandledReconcileAt?: string | undefined;
      }
    | undefined;
}

export const kindNames = kinds.map(({ kind }) => kind) as readonly KindName[];
/** The kinds of `--all` and `-l`: a tenant can list them in its namespace. */
export const namespacedKindNames = kindNames.filter((kind) => kind !== "ClusterConnection");

export function typeOf<Name extends KindName>(name: Name): ResourceType<Kinds[Name]> {
  const { plural, kind, scope } = kindOf(name);
  return { group: GROUP, version: VERSION, plural, kind, namespaced: scope === "Namespaced" };
}

export function kindOf(name: string): Kind {
  const found = kinds.find(({ kind }) => kind === name);
  if (found === undefined) throw new Error(`unknown kind ${name}`);
  return found;
}

/** Whether the object is of the group, the version and a kind of the operator. */
export function isCustomResource({
  apiVersion,
  kind,
}: Pick<KubeObject, "apiVersion" | "kind">): boolean {
  return apiVersion === API_VERSION && kinds.some((each) => each.kind === kind);
}

/** An object as a user names it. */
export interface ObjectName {
  readonly kind: KindName;
  readonly name: string;
}

/** `iamkey/ci-bot-key`: kubectl accepts it, and the short name belongs to no other kind. */
export function toText({ kind, name }: ObjectName): string {
  return `${kindOf(kind).shortName}/${name}`;
}

/** An object for its name: of the API, or read from a file. */
export type Named = Pick<AnyObject, "kind" | "metadata">;

export function nameOf({ kind, metadata }: Named): string {
  return toText({ kind: kind as KindName, name: metadata.name });
}

/** A command that works in any current namespace: `kubectl iam resume iamkey/ci-bot-key -n team-a`. */
export function commandAbout(verb: string, object: Named): string {
  const { namespace } = object.metadata;
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  return `kubectl iam ${verb} ${nameOf(object)}${where}`;
}

const EXAMPLE = "write it as KIND/NAME, such as iamkey/ci-bot-key";

/** Parses `iamkey/ci-bot-key`. The kind can be any name that kubectl accepts, in any case. Throws UsageError. */
export function parseObjectName(text: string, fallback?: KindName): ObjectName {
  const [first = "", second, ...rest] = text.split("/");
  if (rest.length > 0 || text === "" || second === "")
    throw new UsageError(`"${text}" names no object: ${EXAMPLE}`);
  if (second !== undefined) return { kind: parseKind(first), name: checkName(second) };
  if (fallback === undefined) throw new UsageError(`"${text}" does not name a kind: ${EXAMPLE}`);
  return { kind: fallback, name: checkName(first) };
}

/**
 * `iamkey a b` becomes `iamkey/a iamkey/b`. A command that takes `most` arguments, of which the first one is a name, has a
 * kind before the name only if there is one argument more.
 */
export function joinKind(args: readonly string[], most?: number): readonly string[] {
  const [kind = "", ...rest] = args;
  if (rest.length === 0 || rest.length !== (most ?? rest.length)) return args;
  if (findKind(kind) === undefined) return args;
  const join = (name: string) => (name.includes("/") ? name : `${kind}/${name}`);
  return rest.map((arg, index) => (most === undefined || index === 0 ? join(arg) : arg));
}

/** Parses `ci-bot` or `iamsa/ci-bot`, for an argument that accepts one kind only. Throws UsageError. */
export function parseNameOf(kind: KindName, text: string): ObjectName {
  const found = parseObjectName(text, kind);
  if (found.kind === kind) return found;
  throw new UsageError(`"${text}" is not of kind ${kind}: give a name such as ci-bot`);
}

/** Finds a kind by any name that kubectl accepts, in any case. */
export function findKind(text: string): KindName | undefined {
  const [word = ""] = text.toLowerCase().split(`.${GROUP}`);
  const found = kinds.find(
    ({ kind, plural, singular, shortName }) =>
      kind.toLowerCase() === word || [plural, singular, shortName].includes(word),
  );
  return found?.kind as KindName | undefined;
}

function parseKind(text: string): KindName {
  const found = findKind(text);
  if (found !== undefined) return found;
  const known = kinds.map(({ singular }) => singular).join(", ");
  throw new UsageError(`"${text}" is none of the operator's kinds: ${known}`);
}

export function isObjectName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name);
}

/** Throws UsageError if no object can have this name. */
export function checkName(name: string): string {
  if (isObjectName(name)) return name;
  throw new UsageError(
    `"${name}" is not a valid object name: use lower-case letters, digits, '-' and '.', such as ci-bot`,
  );
}
