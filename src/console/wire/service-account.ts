/** Reads service accounts and API keys from the console's answers. */
import { ownEntry } from "../../util/own-entry.ts";
import { Redacted } from "../../util/redacted.ts";
import type {
  IamKeyRecord,
  IamServiceAccount,
  IamServiceAccountDetail,
  Json,
  NewKeyPair,
} from "../model.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { readLifetime } from "./key-lifetime.ts";
import { readKeyState } from "./key-state.ts";
import { payloadOf, readListing, readWholeListing } from "./listing.ts";
import { ShapeError } from "./shape-error.ts";
import { isConsoleId, isOneLine, isText } from "./texts.ts";

/** A list with more keys, or longer key names, than a status can hold counts as unreadable. */
const MAX_KEYS = 10_000;
const MAX_KEY_CHARACTERS = 262_144;

const LONGEST_TPN = 1_024;
/** Names of a list of accounts. */
const LISTS = ["serviceAccounts", "accounts"];
const ABOUT_PAGES =
  ". Ask the connection's administrator to name the console's query parameters in spec.accountListPages.";

type IsReadable = (value: unknown) => value is string;
type Fields<Name extends string> = readonly (readonly [Name, IsReadable])[];

const ACCOUNT_FIELDS: Fields<Exclude<keyof IamServiceAccount, "saId">> = [
  ["tpn", isTpn],
  ["orgId", isConsoleId],
  ["projectId", isConsoleId],
  ["name", isText],
  ["description", isText],
  ["status", isText],
];
const KEY_FIELDS: Fields<"description" | "status"> = [
  ["description", isText],
  ["status", isText],
];

/** A service account, bare (as documented for createServiceAccount) or in an envelope. Only `saId` is required. */
export function readServiceAccount(json: Json): IamServiceAccount {
  return readAccountRecord(recordWith("saId", json));
}

/** Reads the answer of listServiceAccounts. It must be the whole list, because the spec shows no parameters. */
export function readServiceAccounts(json: Json): readonly IamServiceAccount[] {
  return readWholeListing(json, LISTS, ABOUT_PAGES).map(readAccountRecord);
}

/** One page of listServiceAccounts, if the connection names the parameters of pages. */
export function readServiceAccountPage(json: Json) {
  const { records, ...position } = readListing(json, LISTS);
  return { ...position, records: records.map(readAccountRecord) };
}

/**
 * Reads the answer of getServiceAccount for the account `saId`. Refuses an answer about another account. If the key
 * list is unreadable, it is `undefined` and the account is still returned.
 */
export function readServiceAccountDetail(json: Json, saId: string): IamServiceAccountDetail {
  const record = recordWith("saId", json);
  const account = readAccountRecord(record);
  if (account.saId !== saId) throw new ShapeError("this is another service account");
  return { ...account, ...readKeys(record) };
}

/**
 * Reads the answer of issueKey. Accepts any two single-line strings as a pair: the spec promises no prefix or length,
 * and refusing the pair would lose a key that exists.
 */
export function readKeyPair(json: Json): NewKeyPair {
  const record = recordWith("secret", json);
  if (!isJsonObject(record)) throw new ShapeError("the answer lacks a key pair");
  const { keyId, secret } = record;
  if (!isConsoleId(keyId)) throw new ShapeError("the answer lacks a usable keyId");
  if (typeof secret !== "string") throw new ShapeError("the answer lacks a secret");
  if (!isOneLine(secret)) throw new ShapeError("the secret in the answer is not a single line");
  return { keyId, secret: new Redacted(secret), lifetime: readLifetime(record) };
}

/**
 * The record with `field`: the answer itself, the payload of its envelope, or the only member of either. Nothing deeper:
 * if there are other members, it would be a guess which of them the answer is about.
 */
function recordWith(field: string, json: Json): Json {
  const payload = payloadOf(json);
  const candidates = [json, payload, onlyMemberOf(payload)];
  return (
    candidates.find((each) => isJsonObject(each) && ownEntry(each, field) !== undefined) ?? payload
  );
}

function onlyMemberOf(payload: Json): Json {
  const members = isJsonObject(payload) ? Object.values(payload) : [];
  return members.length === 1 ? (members[0] ?? null) : null;
}

function readAccountRecord(record: Json): IamServiceAccount {
  if (!isJsonObject(record) || !isConsoleId(record.saId))
    throw new ShapeError("there is a service account without saId");
  return { saId: record.saId, ...readFields(record, ACCOUNT_FIELDS) };
}

/** An unreadable field counts as absent. A schema took five times as long, for every record of a list. */
function readFields<Name extends string>(
  record: JsonObject,
  fields: Fields<Name>,
): { readonly [Field in Name]?: string } {
  const readable: { [Field in Name]?: string } = {};
  for (const [name, isReadable] of fields) {
    const value = record[name];
    if (isReadable(value)) readable[name] = value;
  }
  return readable;
}

function isTpn(value: unknown): value is string {
  return isOneLine(value) && value.length <= LONGEST_TPN;
}

/** Every ID in the key list, whatever the state of the key; `undefined` if an ID is unreadable. */
function readKeys(record: Json): Pick<IamServiceAccountDetail, "keyIds" | "keyRecords"> {
  const entries = isJsonObject(record) ? entriesOf(record.keys) : undefined;
  if (entries === undefined || entries.length > MAX_KEYS) return { keyIds: undefined };
  const ids = entries.map(readKeyId);
  if (!ids.every((keyId) => keyId !== undefined)) return { keyIds: undefined };
  if (ids.join("").length > MAX_KEY_CHARACTERS) return { keyIds: undefined };
  const records = ids.flatMap((keyId, index) => {
    const entry = entries[index];
    const shown = isJsonObject(entry) ? readKeyRecord(entry) : {};
    return Object.keys(shown).length === 0 ? [] : [[keyId, shown] as const];
  });
  return records.length === 0 ? { keyIds: ids } : { keyIds: ids, keyRecords: new Map(records) };
}

function readKeyRecord(entry: JsonObject): IamKeyRecord {
  const { status, ...record } = readFields(entry, KEY_FIELDS);
  const state = status === undefined ? undefined : readKeyState(status);
  return state === undefined ? record : { ...record, state };
}

function entriesOf(keys: Json | undefined): readonly Json[] | undefined {
  return Array.isArray(keys) ? keys : listedKeys(keys);
}

function listedKeys(keys: Json | undefined): readonly Json[] | undefined {
  if (!isJsonObject(keys)) return undefined;
  try {
    return readWholeListing(keys);
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}

function readKeyId(entry: Json): string | undefined {
  const value = isJsonObject(entry) ? (entry.keyId ?? entry.id) : entry;
  return isConsoleId(value) ? value : undefined;
}
