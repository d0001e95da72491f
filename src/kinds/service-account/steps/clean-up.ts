/** Console calls of a deletion. */

import { lookUpAccount } from "../../../accounts/look-up.ts";
import { plannedSync } from "../../../accounts/planned-sync.ts";
import { readEffect } from "../../../accounts/read-effect.ts";
import { readPolicies } from "../../../accounts/read-policies.ts";
import type { PlannedCall } from "../../../api/plan.ts";
import type { IamClient } from "../../../console/client/client.ts";
import type { IamReader } from "../../../console/client/reader.ts";
import { IamError, type IamErrorCode, isIamError } from "../../../console/errors.ts";
import { accountEffect, type Effect, notApplied, unbindEffect } from "../../../console/evidence.ts";
import type { BindingSet, LiveBindings } from "../../../console/model.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import type { RunContext } from "../../../reconciler/run-context.ts";
import { asSubmitted } from "../../../util/spelling.ts";
import type { AccountActionOf, AccountKind, AccountProgress, CleanUp } from "../rules/snapshot.ts";
import { failureOf } from "./failure.ts";
import { sessionOf } from "./look-up.ts";
import type { AccountEffect } from "./step-types.ts";

/** What the calls of a deletion led to: the result, or the failure of the console, a fact for the rules. */
type CleanedUp = CleanUp | Waiting;

export const revokePolicies: AccountEffect<"RevokePolicies", CleanedUp> = {
  call: async (action, { snapshot }, run) => {
    const client = run.console(sessionOf(snapshot));
    const { tpn, only } = action;
    let effect: Effect = "Shown";
    const submit = async (set: BindingSet) => {
      await client.syncBindings(set, run.signal);
      effect = await shownEffect(action, client, run);
    };
    const failure = await failureOf(snapshot, async () => {
      await revoke(action, client, submit, run.signal);
      if (effect === "NotShown")
        throw notApplied(
          "syncBindings",
          `listBindings still shows ${only === undefined ? "policies" : only.join(", ")} of ${tpn}`,
        );
    });
    return failure ?? resultOf(action, effect);
  },
  planned: async (action, { snapshot }, run) => {
    const console = run.console(sessionOf(snapshot));
    let line: PlannedCall | undefined;
    const submit = async (set: BindingSet) => {
      const policies = await readPolicies(console, set.orgId, run.signal);
      line = await plannedSync(set, policies, console, run.signal);
    };
    const failure = await failureOf(snapshot, () => revoke(action, console, submit, run.signal));
    return { answer: failure ?? resultOf(action, "Shown"), line };
  },
  after: (_, progress, answer) => concluded(progress, answer),
};

function resultOf({ only }: AccountActionOf<"RevokePolicies">, effect: Effect): CleanUp {
  if (effect !== "Shown") return "RevokeUnconfirmed";
  return only === undefined ? "Revoked" : "RetainNotGranted";
}

function concluded({ snapshot, done }: AccountProgress, answer: CleanedUp): AccountProgress {
  const result = typeof answer === "string" ? { cleanedUp: answer } : { failure: answer };
  return { snapshot, done: { ...done, ...result } };
}

/** Whether a read shows the policies as unbound. A login without permission to read them learns nothing. */
async function shownEffect(
  { tpn, only }: AccountActionOf<"RevokePolicies">,
  console: IamReader,
  run: Pick<RunContext<AccountKind>, "clock" | "signal">,
): Promise<Effect> {
  const read = async (): Promise<LiveBindings> => {
    try {
      return await console.listBindings(tpn, run.signal);
    } catch (error) {
      if (isIamError(error, "PermissionDenied") || isIamError(error, "NotFound"))
        return { readable: false };
      throw error;
    }
  };
  const { effect } = await readEffect(read, (live) => unbindEffect(live, only), run);
  return effect;
}

/**
 * Submits the policies that stay. A 404 may come from a gateway: it counts as success only if listBindings then shows no
 * policies or also returns 404.
 */
async function revoke(
  { tpn, orgId, only }: AccountActionOf<"RevokePolicies">,
  console: IamReader,
  submit: (set: BindingSet) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const policyIds = only === undefined ? [] : await othersBound(console, tpn, only, signal);
    if (policyIds !== undefined) await submit({ tpn, orgId, policyIds });
  } catch (error) {
    if (!isIamError(error, "NotFound") || (await hasBindings(console, tpn, signal))) throw error;
  }
}

/** Policies bound in addition to `policyIds`; `undefined` if none of `policyIds` is bound. */
async function othersBound(
  console: IamReader,
  tpn: string,
  policyIds: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const live = await console.listBindings(tpn, signal);
  if (!live.readable)
    throw new IamError("MalformedResponse", "listBindings: the response cannot be read", {
      operation: "listBindings",
    });
  const others = asSubmitted(live.policyIds, policyIds).filter((id) => !policyIds.includes(id));
  return others.length === live.policyIds.length ? undefined : others;
}

async function hasBindings(client: IamReader, tpn: string, signal: AbortSignal): Promise<boolean> {
  try {
    const live = await client.listBindings(tpn, signal);
    return live.readable && live.policyIds.length > 0;
  } catch (error) {
    if (isIamError(error, "NotFound")) return false;
    throw error;
  }
}

export const deleteAccount: AccountEffect<"DeleteAccount", CleanedUp> = {
  call: async ({ saId }, { snapshot }, run) => {
    let effect: Effect = "Shown";
    const failure = await failureOf(snapshot, async () => {
      effect = await remove(run.console(sessionOf(snapshot)), saId, run);
      if (effect === "NotShown")
        throw notApplied("deleteServiceAccount", `the console still shows account ${saId}`);
    });
    return failure ?? (effect === "Shown" ? "Deleted" : "DeleteUnconfirmed");
  },
  planned: ({ saId }) => {
    const message = `Deletes service account ${saId}.`;
    return { answer: "Deleted", line: { call: "deleteServiceAccount", object: saId, message } };
  },
  after: (_, progress, answer) => concluded(progress, answer),
};

/**
 * A 404 counts as success only if the console no longer has the account: a wrong path in the connection also returns
 * 404.
 */
async function remove(
  client: IamClient,
  saId: string,
  run: Pick<RunContext<AccountKind>, "clock" | "signal">,
): Promise<Effect> {
  try {
    await client.deleteServiceAccount?.(saId, run.signal);
  } catch (error) {
    if (!isIamError(error, "NotFound")) throw error;
    if ((await lookUpAccount(client, saId, run.signal)) !== undefined) throw error;
    return "Shown";
  }
  const read = () => readDeletion(client, saId, run.signal);
  return (await readEffect(read, (effect) => effect, run)).effect;
}

/** The account's own 404 proves nothing: see `lookUpAccount`. */
async function readDeletion(client: IamReader, saId: string, signal: AbortSignal): Promise<Effect> {
  const detail = await client.getServiceAccount(saId, signal);
  if (detail !== undefined) return accountEffect(detail);
  try {
    const accounts = await client.listServiceAccounts(undefined, signal);
    return accountEffect(accounts.find((account) => account.saId === saId));
  } catch (error) {
    if (isIamError(error) && UNLISTED.has(error.code)) return "Unknown";
    throw error;
  }
}

/** After these errors of listServiceAccounts, it is unknown which accounts the console has. */
const UNLISTED: ReadonlySet<IamErrorCode> = new Set([
  "MalformedResponse",
  "NotFound",
  "PermissionDenied",
]);
