/** Puts the objects into the commands of an advice that is the same for all objects. Pure. */
import { type ConnectionRef, isConnectionKind } from "../../api/fields.ts";
import { ownEntry } from "../../util/own-entry.ts";
import { commandAbout, findKind, type Named } from "../cluster/kinds.ts";
import type { World } from "../cluster/read.ts";
import { chainOf, refsOf } from "../cluster/relations.ts";
import type { Chain } from "../cluster/why-delayed.ts";

type Referring = Chain["object"];

/**
 * `kubectl iam reconcile`, `kubectl iam status iamsa/NAME`, or the same with a name, but without a namespace. The end
 * keeps it from matching a part of a command that has both.
 */
const COMMAND =
  /kubectl iam (reconcile|rotate|replace-account|resume|status)(?: ([a-z]+)\/([\w.-]*\w))?(?! -n| [a-z]+\/|[\w-]|\.\w)/g;

/** Kinds of commands that name none; `reconcile` is about the object itself. */
const KIND_OF: Readonly<Record<string, string>> = {
  rotate: "ApiKey",
  "replace-account": "ServiceAccount",
};

/** Leaves a command as it is if the object that it is about is unknown. */
export function withNames(advice: string, object: Referring, world: World): string {
  return advice.replaceAll(COMMAND, (command, verb: string, kind?: string, name?: string) => {
    const wanted = kind === undefined ? (ownEntry(KIND_OF, verb) ?? object.kind) : findKind(kind);
    const target = targetOf(wanted, object, world);
    const isMeant = name === undefined || name === "NAME" || name === target?.metadata.name;
    return target !== undefined && isMeant ? commandAbout(verb, target) : command;
  });
}

function targetOf(kind: string | undefined, object: Referring, world: World): Named | undefined {
  if (kind === object.kind) return object;
  if (kind === "ServiceAccount") return accountOf(object);
  if (kind === "ApiKey") return namedLike(object, kind, refsOf(object).apiKeyRef);
  if (!isConnectionKind(kind)) return undefined;
  return isConnectionKind(object.kind) ? object : connectionOf(object, world);
}

export function accountOf(object: Referring): Named | undefined {
  return namedLike(object, "ServiceAccount", refsOf(object).serviceAccountRef);
}

/** By the reference: tenants can seldom read ClusterConnections. */
export function connectionOf(object: Referring, world: World): Named | undefined {
  const { connectionRef } = refsOf(chainOf(object, world).account ?? object);
  if (connectionRef === undefined) return undefined;
  const { kind, name }: ConnectionRef = connectionRef;
  return kind === "Connection" ? namedLike(object, kind, { name }) : { kind, metadata: { name } };
}

/** An object in the namespace of another one. */
function namedLike(
  { metadata }: Referring,
  kind: string,
  ref: { readonly name: string } | undefined,
): Named | undefined {
  return ref === undefined ? undefined : { kind, metadata: { ...metadata, name: ref.name } };
}
