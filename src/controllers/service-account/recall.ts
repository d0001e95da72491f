/**
 * Which account a deleted object has whose status names none. The status may have been lost, by a restore or an edit,
 * and then nobody would unbind the account's policies.
 */
import type { Readiness } from "../../api/conditions.ts";
import { isIamError } from "../../iam/errors.ts";
import { failureReadiness } from "../frame/rules/failure.ts";
import { lookUpAccount } from "../look-up-account.ts";
import { type Account, fromConsole } from "./account.ts";
import { type Known, observeListing } from "./observe.ts";
import { expectedAccount, mismatchOf, type Situation, wantedOf } from "./plan.ts";
import { findForgotten } from "./recovery.ts";

export type Recall =
  /** The object has no account. */
  | { readonly kind: "Nothing" }
  | { readonly kind: "Account"; readonly account: Account }
  /** The console has accounts that might be the object's, and does not say whose they are. */
  | { readonly kind: "Unclear"; readonly saIds: readonly string[] }
  /** The console could not be asked, or did not answer. */
  | { readonly kind: "Unanswered"; readonly finding: Readiness };

/** Whether other objects have an account. */
export interface Claims {
  /** Any other object names it; for accounts that this object does not name itself. */
  isNamed(saId: string): boolean;
  /** An older object has it, of all that name it. */
  isLost(saId: string): Promise<boolean>;
}

/** Our finalizer is added just before an account is created or taken in, so that without it there is none. */
export function mayHaveLostAccount({ held, account, attempt }: Known): boolean {
  return held && account === undefined && attempt === undefined;
}

export async function recallAccount(
  situation: Situation,
  claims: Claims,
  signal: AbortSignal,
): Promise<Recall> {
  const { saId } = situation.spec;
  try {
    return saId === undefined
      ? await findCreated(situation, claims, signal)
      : await findImported(saId, situation, claims, signal);
  } catch (error) {
    const finding = isIamError(error) ? failureReadiness(error) : undefined;
    if (finding === undefined) throw error;
    return { kind: "Unanswered", finding };
  }
}

async function findCreated(
  situation: Situation,
  claims: Claims,
  signal: AbortSignal,
): Promise<Recall> {
  const listing = await observeListing(situation.access, signal);
  if (!listing.ok) return { kind: "Unanswered", finding: unlisted(listing.code) };
  const found = findForgotten(listing.accounts, wantedOf(situation), claims.isNamed);
  if (found.kind !== "Own") return found;
  // Somebody has imported it since.
  if (claims.isNamed(found.account.saId)) return { kind: "Nothing" };
  const account = fromConsole(found.account, expectedAccount(situation, "Created"));
  return { kind: "Account", account };
}

/** What was taken in by its id, on the same conditions as then. */
async function findImported(
  saId: string,
  situation: Situation,
  claims: Claims,
  signal: AbortSignal,
): Promise<Recall> {
  if (await claims.isLost(saId)) return { kind: "Nothing" };
  const detail = await lookUpAccount(situation.access.client, saId, signal);
  if (detail === undefined) return { kind: "Nothing" };
  const account = fromConsole(detail, expectedAccount(situation, "Imported"));
  const isAnother = mismatchOf(account, situation) !== undefined;
  return isAnother ? { kind: "Nothing" } : { kind: "Account", account };
}

function unlisted(code: string): Readiness {
  return {
    state: "Reconciling",
    reason: "AccountUnknown",
    message: `The status does not name the account, and the console's accounts cannot be listed (${code}), so it is not known whether there is one whose policies have to be unbound.`,
  };
}
