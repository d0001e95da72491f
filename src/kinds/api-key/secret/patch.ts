import { annotations } from "../../../api/meta.ts";
import type { Secret } from "../../../resources/resource-types.ts";
import { ownEntry } from "../../../util/own-entry.ts";
import { droppedNames } from "./names.ts";
import type { SecretOwner } from "./owner.ts";
import type { SecretView } from "./view.ts";

/** Annotations that only some of the operator's Secrets have. */
const PASSING = [
  annotations.account,
  annotations.previousKeyId,
  annotations.previousPairHash,
  annotations.templateNames,
] as const;

/**
 * A merge patch that turns a stored Secret into `wanted` in one write. It removes undeclared entries, and labels and
 * annotations that are no longer declared. It keeps labels and annotations that were set outside the operator, and
 * other owners. It contains uid and resourceVersion, so it applies only to the Secret that was read.
 */
export function targetPatch(
  stored: Extract<SecretView, { secret: Secret }>,
  wanted: Secret,
  owner: SecretOwner,
): object {
  const { data = {}, metadata } = stored.secret;
  const removed = Object.keys(data).filter((key) => ownEntry(wanted.data, key) === undefined);
  const stale = PASSING.filter((name) => wanted.metadata.annotations?.[name] === undefined);
  const dropped = droppedNames(metadata, wanted.metadata);
  const others = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.uid);
  return {
    metadata: {
      uid: stored.uid,
      resourceVersion: stored.resourceVersion,
      labels: { ...toNull(dropped.labels), ...wanted.metadata.labels },
      annotations: {
        ...toNull([...stale, ...dropped.annotations]),
        ...wanted.metadata.annotations,
      },
      ownerReferences: [...others, ...(wanted.metadata.ownerReferences ?? [])],
    },
    data: { ...toNull(removed), ...wanted.data },
  };
}

function toNull(names: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(names.map((name) => [name, null]));
}
