/** Whether a grant of a ClusterConnection is for a namespace. Pure. */
import type { Grant } from "../api/connection.ts";
import { matchesLabels } from "../kube/match-labels.ts";

/** `labels` is undefined for an unknown namespace: then no selector matches. */
export function matchesGrant(
  { namespaces }: Pick<Grant, "namespaces">,
  name: string,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const { names = [], selector, all } = namespaces;
  if (all === true || names.includes(name)) return true;
  return selector !== undefined && labels !== undefined && matchesLabels(selector, labels);
}
