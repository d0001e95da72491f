/** Classifies a stored Secret: whether it belongs to the ApiKey, and which pair it holds. Pure. */
import type { ApiKeySpec } from "../../../api/api-key.ts";
import { annotations, apiKeyLabel, labels, MANAGED_BY } from "../../../api/meta.ts";
import { OPAQUE } from "../../../api/secret-types.ts";
import type { KeyPair } from "../../../console/model.ts";
import type { Secret } from "../../../resources/resource-types.ts";
import { ownEntry } from "../../../util/own-entry.ts";
import {
  isOwned,
  namesApiKey,
  ownLabels,
  type SecretOwner,
  type SecretRole,
  typeOf,
} from "./owner.ts";
import type { IssuedPair } from "./pair.ts";
import { readBackPairs } from "./read-back.ts";

/** Classification of a stored Secret. */
export type SecretView =
  | { readonly kind: "Absent" }
  /** The watch lists no Secret with the operator's labels. A Secret may exist anyway; a create shows it. */
  | { readonly kind: "Unlisted" }
  | UnreadSecret
  /** Does not belong to the ApiKey. */
  | {
      readonly kind: "Foreign";
      readonly why: string;
      /** Whether the Secret can be adopted: it has no other controller, and its type matches. */
      readonly adoptable: boolean;
      /** Whether its owner agrees to an adoption: its label names this ApiKey. */
      readonly hasConsent: boolean;
      /** Name of the ApiKey whose key the Secret may hold. */
      readonly holder?: string | undefined;
      readonly uid: string;
      readonly resourceVersion: string;
      readonly secret: Secret;
    }
  | OwnSecret;

/**
 * Belongs to the ApiKey, and is unchanged since the status recorded that it matches the declaration. Only its metadata
 * is known.
 */
interface UnreadSecret {
  readonly kind: "Unread";
  readonly keyId: string;
  readonly previousKeyId: string | undefined;
}

interface OwnSecret {
  readonly kind: "Ours";
  readonly uid: string;
  readonly resourceVersion: string;
  /** The pair in the Secret; `undefined` if an edit has broken it. */
  readonly pair: IssuedPair | undefined;
  /** The previous pair, if the entries contain it. */
  readonly previous: KeyPair | undefined;
  readonly secret: Secret;
}

/**
 * Classifies a stored Secret. If the annotation with the key ID was edited, the pair is still proven if its hash fits to
 * `knownKeyId`.
 */
export function viewSecret(
  secret: Secret | undefined,
  owner: SecretOwner,
  spec: ApiKeySpec,
  role: SecretRole,
  knownKeyId?: string,
): SecretView {
  if (secret === undefined) return { kind: "Absent" };
  const { uid = "", resourceVersion = "" } = secret.metadata;
  const foreign = foreignBecause(secret, owner, role, typeOf(role, spec));
  if (foreign !== undefined) {
    const holder = holderOf(secret, owner);
    const hasConsent = namesApiKey(secret, owner);
    return { kind: "Foreign", ...foreign, hasConsent, holder, uid, resourceVersion, secret };
  }
  const pairs = readBackPairs(secret, decoded(secret));
  const pair = pairs.pair ?? (knownKeyId === undefined ? undefined : pairOfId(knownKeyId, secret));
  return { kind: "Ours", uid, resourceVersion, ...pairs, pair, secret };
}

function pairOfId(keyId: string, secret: Secret): IssuedPair | undefined {
  const notes = { ...secret.metadata.annotations, [annotations.keyId]: keyId };
  const noted = { ...secret, metadata: { ...secret.metadata, annotations: notes } };
  return readBackPairs(noted, decoded(secret)).pair;
}

/** The intact pair in a Secret of the ApiKey; `undefined` if there is none. */
export function pairIn(view: SecretView): IssuedPair | undefined {
  return view.kind === "Ours" ? view.pair : undefined;
}

/** ID of the attempt that issued the pair in a pending Secret. */
export function attemptOf(view: SecretView): string | undefined {
  return view.kind === "Ours" ? view.secret.metadata.annotations?.[annotations.attempt] : undefined;
}

/** Name of another ApiKey in the labels of a Secret. */
function holderOf({ metadata }: Secret, { name }: SecretOwner): string | undefined {
  const isManaged = ownEntry(metadata.labels, labels.managedBy) === MANAGED_BY;
  const holder = isManaged ? ownEntry(metadata.labels, labels.apiKey) : undefined;
  return holder === name ? undefined : holder;
}

function foreignBecause(
  { type = OPAQUE, metadata }: Secret,
  owner: SecretOwner,
  role: SecretRole,
  wantedType: string,
): { why: string; adoptable: boolean } | undefined {
  if (type !== wantedType)
    return { why: `its type is ${type}, not ${wantedType}`, adoptable: false };
  const other = metadata.ownerReferences?.find(
    (reference) => reference.controller === true && reference.uid !== owner.uid,
  );
  if (other !== undefined)
    return { why: `it belongs to ${other.kind} ${other.name}`, adoptable: false };
  if (isOwned({ metadata }, owner) || includes(metadata.labels, ownLabels(owner, role)))
    return undefined;
  const missing = namesApiKey({ metadata }, owner)
    ? `${labels.managedBy}: ${MANAGED_BY}`
    : `${labels.apiKey}: ${apiKeyLabel(owner.name)}`;
  return { why: `it lacks the label ${missing}`, adoptable: true };
}

function decoded({ data = {} }: Secret): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString("utf8")]),
  );
}

function includes(
  all: Readonly<Record<string, string>> | undefined,
  part: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(part ?? {}).every(([key, value]) => ownEntry(all, key) === value);
}
