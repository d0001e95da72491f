/** The Secrets of an ApiKey as data: what they should hold, and what a stored one proves to hold. */
import * as z from "zod";
import type { ApiKeySpec } from "../../api/api-key.ts";
import { API_VERSION, annotations, labels, MANAGED_BY } from "../../api/meta.ts";
import { Redacted } from "../../util/redacted.ts";
import { parseInstant, toIso8601 } from "../../util/time.ts";
import type { Secret } from "../resource-types.ts";
import { type IssuedPair, pairHash } from "./pair.ts";
import {
  fillTemplate,
  matchTemplate,
  renderTemplate,
  type Token,
  usesVariable,
} from "./template.ts";
import { listsSameNames, listTemplateNames } from "./template-names.ts";

/** The part of an ApiKey that its Secrets depend on. */
export interface SecretOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Values of template variables other than those of the key pairs. */
export type AccountValues = Readonly<
  Record<
    "saId" | "tpn" | "orgId" | "projectId" | "baseURL" | "domainId" | "domainName" | "partitionId",
    string
  >
>;

const STAGING_TEMPLATES = {
  secret: { entry: "secret", tokens: fillTemplate("${secret}", {}) },
};

/** What a stored Secret turned out to be. */
export type SecretView =
  | { readonly kind: "Absent" }
  /** Not ours to touch. */
  | {
      readonly kind: "Foreign";
      readonly why: string;
      /** Whether its owner may hand it over: nobody else controls it, and it is Opaque. */
      readonly adoptable: boolean;
      readonly uid: string;
      readonly resourceVersion: string;
      readonly secret: Secret;
    }
  | OwnSecret;

export interface OwnSecret {
  readonly kind: "Ours";
  readonly uid: string;
  readonly resourceVersion: string;
  /** The pair it holds; `undefined` where an edit has broken it. */
  readonly pair: IssuedPair | undefined;
  /** The pair before, where the entries show it. */
  readonly previous: { readonly keyId: string; readonly secret: Redacted } | undefined;
  readonly data: Redacted<Readonly<Record<string, string>>>;
  readonly secret: Secret;
}

export function stagingName(secretName: string): string {
  return `${secretName}-next`;
}

export function secretNameOf(apiKeyName: string, spec: ApiKeySpec): string {
  return spec.secret.name ?? apiKeyName;
}

/** The entries the target Secret should have. */
export function renderEntries(
  template: Readonly<Record<string, string>>,
  account: AccountValues,
  pair: IssuedPair,
  previous: OwnSecret["previous"],
): Redacted<Readonly<Record<string, string>>> {
  const values = {
    ...publicValues(account, pair, previous),
    secret: pair.secret.reveal(),
    previousSecret: previous?.secret.reveal() ?? "",
  };
  return new Redacted(
    Object.fromEntries(
      Object.entries(template).map(([name, text]) => [name, renderTemplate(text, values)]),
    ),
  );
}

/** The Secret that consumers mount. */
export function targetSecret(
  owner: SecretOwner,
  spec: ApiKeySpec,
  account: AccountValues,
  pair: IssuedPair,
  previous: OwnSecret["previous"],
): Secret {
  const entries = renderEntries(spec.secret.data, account, pair, previous);
  const recovery = recoveryTemplates(spec.secret.data, publicValues(account, pair, previous));
  return manifest(owner, secretNameOf(owner.name, spec), entries, {
    owned: spec.secret.deletionPolicy === "Delete",
    labels: { ...spec.secret.labels, ...ownLabels(owner, "target") },
    annotations: {
      ...spec.secret.annotations,
      ...listTemplateNames(spec.secret),
      ...pairAnnotations(pair),
      [annotations.template]: JSON.stringify(recovery),
      ...(previous === undefined || recovery.previousSecret === undefined
        ? {}
        : {
            [annotations.previousKeyId]: previous.keyId,
            [annotations.previousPairHash]: pairHash(previous),
          }),
    },
  });
}

/** The Secret that keeps a new pair until consumers have it. */
export function stagingSecret(
  owner: SecretOwner,
  spec: ApiKeySpec,
  pair: IssuedPair,
  attemptId: string,
): Secret {
  const entries = new Redacted({ keyId: pair.keyId, secret: pair.secret.reveal() });
  return manifest(owner, stagingName(secretNameOf(owner.name, spec)), entries, {
    owned: true,
    labels: ownLabels(owner, "staging"),
    annotations: {
      ...pairAnnotations(pair),
      [annotations.attempt]: attemptId,
      [annotations.template]: JSON.stringify(STAGING_TEMPLATES),
    },
  });
}

/** Judges a stored Secret: is it ours, and which pair does it hold? */
export function viewSecret(
  secret: Secret | undefined,
  owner: SecretOwner,
  role: "target" | "staging",
): SecretView {
  if (secret === undefined) return { kind: "Absent" };
  const { uid = "", resourceVersion = "" } = secret.metadata;
  const foreign = foreignBecause(secret, owner, role);
  if (foreign !== undefined) return { kind: "Foreign", ...foreign, uid, resourceVersion, secret };
  const data = decoded(secret);
  return {
    kind: "Ours",
    uid,
    resourceVersion,
    ...recoverPairs(secret, data),
    data: new Redacted(data),
    secret,
  };
}

/** The attempt a staging Secret belongs to. */
export function attemptOf(view: OwnSecret): string | undefined {
  return view.secret.metadata.annotations?.[annotations.attempt];
}

/** Whether the stored Secret is as `wanted` in everything the operator declares. */
export function isAsWanted(view: OwnSecret, wanted: Secret, owner: SecretOwner): boolean {
  const { metadata } = view.secret;
  return (
    sameRecord(view.secret.data ?? {}, wanted.data ?? {}) &&
    includes(metadata.labels, wanted.metadata.labels) &&
    includes(metadata.annotations, wanted.metadata.annotations) &&
    listsSameNames(metadata, wanted.metadata) &&
    isOwned(view.secret, owner) === isOwned(wanted, owner)
  );
}

function foreignBecause(
  { type, metadata }: Secret,
  owner: SecretOwner,
  role: string,
): { why: string; adoptable: boolean } | undefined {
  if (type !== undefined && type !== "Opaque")
    return { why: `its type is ${type}, not Opaque`, adoptable: false };
  const other = metadata.ownerReferences?.find(
    (reference) => reference.controller === true && reference.uid !== owner.uid,
  );
  if (other !== undefined)
    return { why: `it belongs to ${other.kind} ${other.name}`, adoptable: false };
  return isOwned({ metadata }, owner) || includes(metadata.labels, ownLabels(owner, role))
    ? undefined
    : { why: `it lacks the label ${labels.apiKey}: ${owner.name}`, adoptable: true };
}

function ownLabels({ name }: SecretOwner, role: string): Readonly<Record<string, string>> {
  return { [labels.managedBy]: MANAGED_BY, [labels.apiKey]: labelValue(name), [labels.role]: role };
}

/** A label holds 63 characters; longer names are cut and told apart by the owner reference. */
function labelValue(name: string): string {
  return name.length <= 63 ? name : name.slice(0, 63).replace(/[^a-z0-9]+$/, "");
}

function pairAnnotations(pair: IssuedPair): Readonly<Record<string, string>> {
  return {
    [annotations.keyId]: pair.keyId,
    [annotations.issueTime]: toIso8601(pair.issueTime),
    [annotations.expirationTime]: toIso8601(pair.expirationTime),
    [annotations.revision]: String(pair.revision),
    [annotations.pairHash]: pairHash(pair),
  };
}

function publicValues(
  account: AccountValues,
  pair: IssuedPair,
  previous: OwnSecret["previous"],
): Readonly<Record<string, string>> {
  return {
    ...account,
    keyId: pair.keyId,
    previousKeyId: previous?.keyId ?? "",
    issueTime: toIso8601(pair.issueTime),
    expirationTime: toIso8601(pair.expirationTime),
  };
}

const recoverySchema = z.object({
  secret: recoveryTemplate().optional(),
  previousSecret: recoveryTemplate().optional(),
});

function recoveryTemplate() {
  return z.object({
    entry: z.string(),
    tokens: z.array(
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("text"), text: z.string() }),
        z.object({
          kind: z.literal("variable"),
          name: z.enum(["secret", "previousSecret"]),
          json: z.boolean(),
        }),
      ]),
    ),
  });
}

interface RecoveryTemplate {
  readonly entry: string;
  /** The entry's text: values filled in, the two secrets left open. */
  readonly tokens: readonly Token[];
}
interface RecoveryTemplates {
  readonly secret?: RecoveryTemplate | undefined;
  readonly previousSecret?: RecoveryTemplate | undefined;
}

/** For each of the two secrets, the simplest entry that it can be read back from. */
function recoveryTemplates(
  template: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): RecoveryTemplates {
  const find = (variable: string, other: string): RecoveryTemplate | undefined =>
    Object.entries(template)
      .filter(([, text]) => usesVariable(text, variable))
      .map(([entry, text]) => ({ entry, text, mixed: usesVariable(text, other) }))
      .toSorted((a, b) => Number(a.mixed) - Number(b.mixed) || a.text.length - b.text.length)
      .map(({ entry, text }) => ({ entry, tokens: fillTemplate(text, values) }))[0];
  const secret = find("secret", "previousSecret");
  const previousSecret = find("previousSecret", "secret");
  return {
    ...(secret === undefined ? {} : { secret }),
    ...(previousSecret === undefined ? {} : { previousSecret }),
  };
}

function recoverPairs(
  { metadata }: Secret,
  data: Readonly<Record<string, string>>,
): Pick<OwnSecret, "pair" | "previous"> {
  const notes = metadata.annotations ?? {};
  const templates = parseRecovery(notes[annotations.template]);
  const secretOf = (
    variable: "secret" | "previousSecret",
    keyId = "",
    hash = "",
  ): Redacted | undefined => {
    const { entry = "", tokens = [] } = templates[variable] ?? {};
    if (!Object.hasOwn(data, entry)) return undefined;
    const isProven = ({ [variable]: value = "" }: Readonly<Record<string, string>>) =>
      value !== "" && pairHash({ keyId, secret: new Redacted(value) }) === hash;
    const value = matchTemplate(tokens, data[entry] ?? "", isProven)?.[variable];
    return value === undefined ? undefined : new Redacted(value);
  };
  const { keyId, pairHash: hash, previousKeyId, previousPairHash } = annotations;
  return {
    pair: pairOf(notes, secretOf("secret", notes[keyId], notes[hash])),
    previous: previousOf(
      notes,
      secretOf("previousSecret", notes[previousKeyId], notes[previousPairHash]),
    ),
  };
}

/** The pair around a secret that is proven to belong to its keyId. */
function pairOf(
  notes: Readonly<Record<string, string>>,
  secret: Redacted | undefined,
): IssuedPair | undefined {
  const keyId = notes[annotations.keyId];
  const issueTime = parseInstant(notes[annotations.issueTime]);
  const expirationTime = parseInstant(notes[annotations.expirationTime]);
  const revision = Number(notes[annotations.revision]);
  if (secret === undefined || keyId === undefined || issueTime === undefined) return undefined;
  if (expirationTime === undefined || !Number.isSafeInteger(revision) || revision < 1)
    return undefined;
  return { keyId, secret, issueTime, expirationTime, revision };
}

function previousOf(
  notes: Readonly<Record<string, string>>,
  secret: Redacted | undefined,
): OwnSecret["previous"] {
  const keyId = notes[annotations.previousKeyId];
  return secret === undefined || keyId === undefined ? undefined : { keyId, secret };
}

/** Annotations can be edited by anybody: what does not read as expected counts as absent. */
function parseRecovery(text: string | undefined): RecoveryTemplates {
  try {
    return recoverySchema.parse(JSON.parse(text ?? "{}"));
  } catch {
    return {};
  }
}

function isOwned({ metadata }: Secret, { uid }: SecretOwner): boolean {
  return metadata.ownerReferences?.some((reference) => reference.uid === uid) ?? false;
}

interface ManifestParts {
  readonly owned: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

function manifest(
  owner: SecretOwner,
  name: string,
  entries: Redacted<Readonly<Record<string, string>>>,
  parts: ManifestParts,
): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      namespace: owner.namespace,
      labels: parts.labels,
      annotations: parts.annotations,
      ...(parts.owned
        ? {
            ownerReferences: [
              {
                apiVersion: API_VERSION,
                kind: "ApiKey",
                name: owner.name,
                uid: owner.uid,
                controller: true,
                blockOwnerDeletion: true,
              },
            ],
          }
        : {}),
    },
    type: "Opaque",
    data: Object.fromEntries(
      Object.entries(entries.reveal()).map(([key, text]) => [
        key,
        Buffer.from(text, "utf8").toString("base64"),
      ]),
    ),
  };
}

function decoded({ data = {} }: Secret): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString("utf8")]),
  );
}

function sameRecord(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): boolean {
  return Object.keys(a).length === Object.keys(b).length && includes(a, b);
}

function includes(
  all: Readonly<Record<string, string>> | undefined,
  part: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(part ?? {}).every(([key, value]) => all?.[key] === value);
}
