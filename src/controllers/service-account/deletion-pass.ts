/** What a pass over a deleted object finds out and cleans up before the object is held or let go. */
import type { ServiceAccount } from "../../api/service-account.ts";
import { originOf } from "../connection-origin.ts";
import type { Context } from "../frame/context.ts";
import type { Progress } from "./apply.ts";
import {
  canCleanUp,
  cleanUp,
  type DeletionStep,
  type FinalStep,
  judgeDeletion,
  orGiveUp,
} from "./deletion.ts";
import { findWinner, isClaimedByOther } from "./find-winner.ts";
import type { Known } from "./observe.ts";
import { type Situation, wantedOf } from "./plan.ts";
import { type Claims, mayHaveLostAccount, type Recall, recallAccount } from "./recall.ts";

export interface DeletionOutcome {
  readonly step: FinalStep;
  /** With the account that the status does not name, where it was found. */
  readonly known: Known;
  readonly became?: NonNullable<Progress["became"]>;
}

export async function nextDeletionStep(
  object: ServiceAccount,
  seen: Known,
  context: Context,
  signal: AbortSignal,
): Promise<DeletionOutcome> {
  const recall = await recallIfLost(object, seen, context, signal);
  const step = (known: Known) => finalStep(object, known, recall, context, signal);
  if (recall.kind !== "Account") return { step: await step(seen), known: seen };
  const known = { ...seen, account: recall.account };
  const became = recall.account.origin === "Imported" ? "Imported" : "Recovered";
  return { step: await step(known), known, became };
}

/** Those that wait for a deleted object need to know its account as well, so that it is looked for at once. */
async function recallIfLost(
  object: ServiceAccount,
  known: Known,
  context: Context,
  signal: AbortSignal,
): Promise<Recall> {
  if (!mayHaveLostAccount(known)) return { kind: "Nothing" };
  const possible = canCleanUp(known);
  if (!possible.ok) return { kind: "Unanswered", finding: possible.finding };
  return recallAccount(possible.situation, claimsOf(object, possible.situation, context), signal);
}

async function finalStep(
  object: ServiceAccount,
  known: Known,
  recall: Recall,
  context: Context,
  signal: AbortSignal,
): Promise<FinalStep> {
  const { memory } = known;
  const judged = judgeDeletion(known, recall) ?? (await tryCleanUp(object, known, context, signal));
  if (judged.kind !== "Failing") {
    memory.failingSince = undefined;
    return judged;
  }
  const now = context.clock.now();
  memory.failingSince ??= now;
  return orGiveUp(judged, known, memory.failingSince, now);
}

async function tryCleanUp(
  object: ServiceAccount,
  known: Known,
  context: Context,
  signal: AbortSignal,
): Promise<DeletionStep> {
  const possible = canCleanUp(known);
  if (!possible.ok) return { kind: "Failing", finding: possible.finding };
  const { situation } = possible;
  const { isLost } = claimsOf(object, situation, context);
  return cleanUp(situation, isLost, context.clock.now(), signal);
}

function claimsOf(object: ServiceAccount, situation: Situation, context: Context): Claims {
  return {
    isNamed: (saId) => isClaimedByOther(saId, object, context),
    isLost: async (saId) => {
      const realm = {
        origin: originOf(situation.access.spec.baseURL),
        orgId: wantedOf(situation).orgId,
      };
      const winner = await findWinner(saId, realm, context);
      return winner !== undefined && winner.metadata.uid !== object.metadata.uid;
    },
  };
}
