/** Reads policies and bindings in every likely form, because the spec does not show these records. */

import type { IamPolicy, Json, LiveBindings } from "../model.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { payloadOf, readListing, readWholeListing } from "./listing.ts";
import { ShapeError } from "./shape-error.ts";
import { firstText, isConsoleId } from "./texts.ts";

/** Reads the answer of listPolicies. It must be the whole list, because the spec shows no paging parameters. */
export function readPolicies(json: Json): readonly IamPolicy[] {
  return readWholeListing(json, ["policies"]).map(readPolicy);
}

function readPolicy(record: Json): IamPolicy {
  const policyId = isJsonObject(record) ? firstText(record, ["policyId", "id"]) : undefined;
  if (policyId === undefined || !isJsonObject(record)) {
    throw new ShapeError("there is a policy without id");
  }
  const name = firstText(record, ["name", "policyName"]);
  const kind = firstText(record, ["kind", "policyKind", "type", "policyType"]);
  return {
    policyId,
    ...(name === undefined ? {} : { name }),
    ...(kind === undefined ? {} : { kind }),
  };
}

const UNREADABLE: LiveBindings = { readable: false };

/** Properties that can contain policy IDs. All present properties must contain the same IDs. */
const PLACES = ["data", "items", "policyIds", "policies", "bindings"] as const;

/**
 * Reads the answer of listBindings. Any doubtful part makes the whole answer unreadable; an explicit empty list is
 * readable. Throws ShapeError if the list is known to be incomplete: it must not be the basis of a full replacement,
 * even for an account that the operator created.
 */
export function readBindings(json: Json, tpn: string): LiveBindings {
  const payload = payloadOf(json);
  if (Array.isArray(payload)) return readIds(payload, tpn);
  if (!isJsonObject(payload) || isForAnother(payload, tpn)) return UNREADABLE;
  const lists = PLACES.filter((place) => Array.isArray(payload[place]));
  if (lists.length === 0 && payload.dataCount === undefined) return UNREADABLE;
  refuseIncomplete(payload);
  const found = lists.map((place) => readIds(payload[place] as readonly Json[], tpn));
  const [first = { readable: true, policyIds: [] }, ...others] = found;
  return others.every((other) => isSame(first, other)) ? first : UNREADABLE;
}

function refuseIncomplete(payload: JsonObject): void {
  const { hasNext, totalCount, records } = readListing(payload, PLACES);
  // A record can contain several IDs, so the total is compared with the number of records.
  if (hasNext === true || (totalCount !== undefined && totalCount > records.length)) {
    throw new ShapeError("the list of bindings is not whole");
  }
}

function readIds(records: readonly Json[], tpn: string): LiveBindings {
  const ids = records.map((record) => readBinding(record, tpn));
  return ids.every((found) => found?.every(isConsoleId))
    ? { readable: true, policyIds: [...new Set(ids.flatMap((found) => found ?? []))] }
    : UNREADABLE;
}

/** The policy IDs of one entry: a string, a policy, a binding, or a binding of several policies. */
function readBinding(record: Json, tpn: string): readonly string[] | undefined {
  if (typeof record === "string") return record === "" ? undefined : [record];
  if (!isJsonObject(record) || isForAnother(record, tpn)) return undefined;
  if (Array.isArray(record.policyIds)) return textsOf(record.policyIds);
  const policyId = firstText(record, ["policyId"]) ?? ownPolicy(record.policy) ?? ownId(record);
  return policyId === undefined ? undefined : [policyId];
}

/** The `id` of the record, unless the record has a target or a policy: then it is the ID of a binding. */
function ownId({ id, targetId, targetType, policy }: JsonObject): string | undefined {
  const others = [targetId, targetType, policy];
  if (typeof id !== "string" || id === "") return undefined;
  return others.every((other) => other === undefined) ? id : undefined;
}

function ownPolicy(policy: Json | undefined): string | undefined {
  if (isJsonObject(policy)) return firstText(policy, ["policyId", "id"]);
  return typeof policy === "string" && policy !== "" ? policy : undefined;
}

function isForAnother(record: JsonObject, tpn: string): boolean {
  return typeof record.targetId === "string" && record.targetId !== tpn;
}

function isSame(one: LiveBindings, other: LiveBindings): boolean {
  if (!one.readable || !other.readable) return false;
  const ids = new Set(one.policyIds);
  return ids.size === other.policyIds.length && other.policyIds.every((id) => ids.has(id));
}

function textsOf(values: readonly Json[]): readonly string[] | undefined {
  return values.every((value) => typeof value === "string" && value !== "")
    ? (values as readonly string[])
    : undefined;
}
