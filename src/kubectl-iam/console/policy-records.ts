/**
 * Policies with their statements, if the console's records contain them: the documentation describes the statements,
 * but not the record. Pure.
 */
import * as z from "zod";
import type { Json } from "../../console/model.ts";
import { isJsonObject } from "../../console/wire/json.ts";
import { readListing } from "../../console/wire/listing.ts";
import { ownEntry } from "../../util/own-entry.ts";

export interface Statement {
  readonly effect: "Allow" | "Deny";
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

export interface PolicyRecord {
  readonly policyId: string | undefined;
  /** The status that the console shows, if it is not active. */
  readonly otherStatus?: string | undefined;
  /** `undefined` if the record contains no readable statements. */
  readonly statements: readonly Statement[] | undefined;
  readonly json: Json;
}

const StatementRecord = z.object({
  Effect: z.enum(["Allow", "Deny"]),
  Action: z.array(z.string()),
  Resource: z.array(z.string()),
});
const Statements = z.array(StatementRecord);
const PLACES = ["statements", "Statement", "statement", "document"];

export function readPolicyRecords(json: Json | undefined): readonly PolicyRecord[] {
  if (json === undefined) return [];
  return readListing(json, ["policies"]).records.map((record) => ({
    policyId: idOf(record),
    otherStatus: otherStatusOf(record),
    statements: statementsOf(record),
    json: record,
  }));
}

function idOf(record: Json): string | undefined {
  const id = isJsonObject(record) ? (record.policyId ?? record.id) : undefined;
  return typeof id === "string" ? id : undefined;
}

function otherStatusOf(record: Json): string | undefined {
  const status = isJsonObject(record) ? ownEntry(record, "status") : undefined;
  return typeof status === "string" && status !== "active" ? status : undefined;
}

function statementsOf(record: Json | undefined): readonly Statement[] | undefined {
  if (!isJsonObject(record)) return undefined;
  for (const place of PLACES) {
    const value = ownEntry(record, place);
    const parsed = Statements.safeParse(value);
    if (parsed.success)
      return parsed.data.map(({ Effect, Action, Resource }) => ({
        effect: Effect,
        actions: Action,
        resources: Resource,
      }));
    const inner = statementsOf(value);
    if (inner !== undefined) return inner;
  }
  return undefined;
}
