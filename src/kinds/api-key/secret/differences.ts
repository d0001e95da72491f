/** What a stored Secret has otherwise than the operator wrote it, by name: values can be secrets. Pure. */
import { labels } from "../../../api/meta.ts";
import { OPAQUE } from "../../../api/secret-types.ts";
import type { Secret } from "../../../resources/resource-types.ts";
import { ownEntry } from "../../../util/own-entry.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import { listsSameNames } from "./names.ts";
import { isOwned, type SecretOwner } from "./owner.ts";

export interface Difference {
  /** For example `label team`, `entry keyId`. */
  readonly what: string;
  /** Whether the operator cannot deliver or find a pair without it. */
  readonly isVital: boolean;
}

type Values = Readonly<Record<string, string>> | undefined;

const OWN_DOMAIN = "iam-operator.io/";

/** Ignores labels and annotations that others have added, but not entries. */
export function differences(
  stored: Secret,
  wanted: Secret,
  owner: SecretOwner,
): readonly Difference[] {
  const isTypeSame = (stored.type ?? OPAQUE) === (wanted.type ?? OPAQUE);
  const isOwnerSame = isOwned(stored, owner) === isOwned(wanted, owner);
  const listsNames = listsSameNames(stored.metadata, wanted.metadata);
  return [
    ...differingEntries(stored, wanted).map((name) => ({ what: `entry ${name}`, isVital: true })),
    ...changed("label", stored.metadata.labels, wanted.metadata.labels),
    ...changed("annotation", stored.metadata.annotations, wanted.metadata.annotations),
    ...(isTypeSame ? [] : [{ what: "type", isVital: true }]),
    ...(isOwnerSame ? [] : [{ what: "owner reference", isVital: true }]),
    ...(listsNames ? [] : [{ what: "list of names of labels and annotations", isVital: false }]),
  ];
}

/** Names of entries: all of a Secret's are the operator's. */
export function differingEntries(stored: Secret, wanted: Secret): readonly string[] {
  const names = new Set([stored.data, wanted.data].flatMap((data) => Object.keys(data ?? {})));
  return [...names].filter((name) => differs(name, stored.data, wanted.data));
}

/** At most ten, for a message. */
export function describe(found: readonly Difference[]): string {
  return truncateList(
    found.map(({ what }) => what),
    10,
  );
}

function changed(what: string, stored: Values, wanted: Values): readonly Difference[] {
  return Object.keys(wanted ?? {})
    .filter((name) => differs(name, stored, wanted))
    .map((name) => ({ what: `${what} ${name}`, isVital: isOurs(name) }));
}

function isOurs(name: string): boolean {
  return name === labels.managedBy || name.startsWith(OWN_DOMAIN);
}

function differs(name: string, stored: Values, wanted: Values): boolean {
  return ownEntry(stored, name) !== ownEntry(wanted, name);
}
