import { annotations } from "../../api/meta.ts";
import type { Secret } from "../resource-types.ts";
import type { SecretOwner, SecretView } from "./secret.ts";

/**
 * A merge patch that turns a stored Secret into `wanted`: every entry in one write, entries that are not
 * declared removed, labels, annotations and owners of others kept. Carries uid and resourceVersion, so that
 * it fits only the Secret that was looked at.
 */
export function targetPatch(
  stored: Exclude<SecretView, { kind: "Absent" }>,
  wanted: Secret,
  owner: SecretOwner,
): object {
  const { data = {}, metadata } = stored.secret;
  const removed = Object.keys(data).filter((key) => wanted.data?.[key] === undefined);
  const stale = [annotations.previousKeyId, annotations.previousPairHash].filter(
    (name) => wanted.metadata.annotations?.[name] === undefined,
  );
  const others = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.uid);
  return {
    metadata: {
      uid: stored.uid,
      resourceVersion: stored.resourceVersion,
      labels: wanted.metadata.labels,
      annotations: { ...toNull(stale), ...wanted.metadata.annotations },
      ownerReferences: [...others, ...(wanted.metadata.ownerReferences ?? [])],
    },
    data: { ...toNull(removed), ...wanted.data },
  };
}

function toNull(names: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(names.map((name) => [name, null]));
}
