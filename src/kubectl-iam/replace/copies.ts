/** Manifests of an account's successor, as a user could have written them. Pure. */
import { API_VERSION, annotations } from "../../api/meta.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { FileObject } from "../cluster/given-objects.ts";

/**
 * The same spec, without the account's ID, its name in the console, its access and its suspension. The successor of an
 * imported account belongs to the same project.
 */
export function successorOf(account: ServiceAccount, name: string): FileObject {
  const { saId, name: _, access, suspend, ...kept } = account.spec;
  const projectId = kept.projectId ?? (saId === undefined ? undefined : account.status?.projectId);
  const spec = { ...kept, ...(projectId === undefined ? {} : { projectId }) };
  return replacing(account, "ServiceAccount", name, spec);
}

export function bindingCopy(binding: PolicyBinding, name: string, account: string): FileObject {
  const spec = { ...binding.spec, serviceAccountRef: { name: account } };
  return replacing(binding, "PolicyBinding", name, spec);
}

/** Declares policies that were bound to the old account outside the operator. */
export function bindingOf(
  policyIds: readonly string[],
  name: string,
  account: ServiceAccount,
  successor: string,
): FileObject {
  const { namespace = "" } = account.metadata;
  const spec = { serviceAccountRef: { name: successor }, policyIds };
  return { apiVersion: API_VERSION, kind: "PolicyBinding", metadata: { name, namespace }, spec };
}

/** Name of the object that this object replaces. */
export function replacedBy({ metadata }: Pick<FileObject, "metadata">): string | undefined {
  return metadata.annotations?.[annotations.replaces];
}

/** `ci-bot` → `ci-bot-2`, `ci-bot-2` → `ci-bot-3`: the first name that is not taken. */
export function nextName(name: string, taken: ReadonlySet<string>): string {
  const [, base = name, number = "1"] = /^(.+)-([1-9][0-9]{0,8})$/.exec(name) ?? [];
  const next = `${base}-${Number(number) + 1}`;
  return taken.has(next) ? nextName(next, taken) : next;
}

/** By these labels, a tool would take the copy for an object of its own, and could delete it. */
const OF_TOOLS = /^(app\.kubernetes\.io|helm\.sh|([^/]+\.)?(argoproj\.io|fluxcd\.io))\//;

function replacing(
  { metadata }: Pick<FileObject, "metadata">,
  kind: string,
  name: string,
  spec: object,
): FileObject {
  const { namespace = "" } = metadata;
  const kept = Object.entries(metadata.labels ?? {}).filter(([key]) => !OF_TOOLS.test(key));
  const labels = kept.length === 0 ? {} : { labels: Object.fromEntries(kept) };
  const notes = { annotations: { [annotations.replaces]: metadata.name } };
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: { name, namespace, ...labels, ...notes },
    spec,
  };
}
