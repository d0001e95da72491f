/** IDs that a plan assumes for what the console would create. The console is not asked about them. */
import type { IamReader } from "../../console/client/reader.ts";
import { SECRET_LENGTH } from "../../console/model.ts";
import { Redacted } from "../../util/redacted.ts";

export const INVENTED_SECRET = new Redacted("x".repeat(SECRET_LENGTH));

export function inventedId(name: string): string {
  return `new:${name}`;
}

export function inventedTpn(saId: string): string {
  return `tpn:${inventedId(`sa/${saId}`)}`;
}

/** The name of what has this ID; `undefined` if the ID is not invented. */
export function nameOfInvented(id: string): string | undefined {
  const prefix = inventedId("");
  return id.startsWith(prefix) ? id.slice(prefix.length) : undefined;
}

function isInvented(id: string | undefined): boolean {
  return id?.includes(inventedId("")) === true;
}

/** A console in which invented accounts exist, without policies, and invented keys work. */
export function withInvented(reader: IamReader): IamReader {
  return {
    ...reader,
    getServiceAccount: async (saId, signal) =>
      isInvented(saId)
        ? { saId, tpn: inventedTpn(saId), status: "active", keyIds: [] }
        : reader.getServiceAccount(saId, signal),
    listBindings: async (tpn, signal) =>
      isInvented(tpn) ? { readable: true, policyIds: [] } : reader.listBindings(tpn, signal),
    searchActions: async (query, signal) =>
      isInvented(query.key?.keyId) ? [] : reader.searchActions(query, signal),
  };
}
