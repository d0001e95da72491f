/** Service accounts and API keys in the answers of the console. */
import * as z from "zod";
import { ownEntry } from "../../util/own-entry.ts";
import { Redacted } from "../../util/redacted.ts";
import type {
  IamKeyRecord,
  IamServiceAccount,
  IamServiceAccountDetail,
  Json,
  KeyPair,
} from "../model.ts";
import { isJsonObject } from "./json.ts";
import { payloadOf, readWholeListing } from "./listing.ts";
import { ShapeError } from "./shape-error.ts";
import { isConsoleId, isOneLine, LONGEST_TEXT } from "./texts.ts";

/** More keys, or longer names of keys, than a status can hold count as a list that cannot be read. */
const MAX_KEYS = 10_000;
const MAX_KEY_CHARACTERS = 262_144;

const text = z.string().max(LONGEST_TEXT).optional().catch(undefined);
const id = z.string().refine(isConsoleId);
const otherId = id.optional().catch(undefined);

const AccountRecord = z.object({
  saId: id,
  tpn: z.string().max(1_024).refine(isOneLine).optional().catch(undefined),
  orgId: otherId,
  projectId: otherId,
  name: text,
  description: text,
  status: text,
});

const KeyRecord = z.object({ description: text, status: text });

/** A service account, bare (as documented for createServiceAccount) or in an envelope; only `saId` is indispensable. */
export function readServiceAccount(json: Json): IamServiceAccount {
  return readAccountRecord(recordWith("saId", json));
}

/** listServiceAccounts. The spec shows no parameters, so the one answer must be the whole list. */
export function readServiceAccounts(json: Json): readonly IamServiceAccount[] {
  return readWholeListing(json, ["serviceAccounts", "accounts"]).map(readAccountRecord);
}

/**
 * getServiceAccount for the account `saId`: an answer about another one is refused. A key list that cannot be read is
 * `undefined`; the account is still returned.
 */
export function readServiceAccountDetail(json: Json, saId: string): IamServiceAccountDetail {
  const record = recordWith("saId", json);
  const account = readAccountRecord(record);
  if (account.saId !== saId) throw new ShapeError("this is another service account");
  return { ...account, ...readKeys(record) };
}

const IssuedKey = z.object({
  keyId: z.string().refine(isConsoleId),
  secret: z.string().refine(isOneLine),
});

/**
 * issueKey. Any two lines are a pair: a prefix or length that the spec does not promise is no reason to lose a
 * key that exists.
 */
export function readKeyPair(json: Json): KeyPair {
  const parsed = IssuedKey.safeParse(recordWith("secret", json));
  if (!parsed.success) throw new ShapeError("the answer lacks a key pair");
  return { keyId: parsed.data.keyId, secret: new Redacted(parsed.data.secret) };
}

/** The record that holds `field`: the answer itself, or the payload of its envelope. */
function recordWith(field: string, json: Json): Json {
  return isJsonObject(json) && ownEntry(json, field) !== undefined ? json : payloadOf(json);
}

function readAccountRecord(record: Json): IamServiceAccount {
  const parsed = AccountRecord.safeParse(record);
  if (!parsed.success) throw new ShapeError("there is a service account without saId");
  return withoutUndefined(parsed.data);
}

function withoutUndefined(record: z.infer<typeof AccountRecord>): IamServiceAccount {
  const said = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as Record<string, string> & { saId: string };
}

/** Every id in the key list, whatever the state of the key; `undefined` if one cannot be read. */
function readKeys(record: Json): Pick<IamServiceAccountDetail, "keyIds" | "keyRecords"> {
  const entries = isJsonObject(record) ? entriesOf(record.keys) : undefined;
  if (entries === undefined || entries.length > MAX_KEYS) return { keyIds: undefined };
  const ids = entries.map(readKeyId);
  if (!ids.every((keyId) => keyId !== undefined)) return { keyIds: undefined };
  if (ids.join("").length > MAX_KEY_CHARACTERS) return { keyIds: undefined };
  const records = ids.flatMap((keyId, index) => {
    const shown: IamKeyRecord = KeyRecord.safeParse(entries[index]).data ?? {};
    return Object.values(shown).some((value) => value !== undefined)
      ? [[keyId, shown] as const]
      : [];
  });
  return records.length === 0 ? { keyIds: ids } : { keyIds: ids, keyRecords: new Map(records) };
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
