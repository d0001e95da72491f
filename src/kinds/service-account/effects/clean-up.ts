/** Console calls of a deletion. */

import { lookUpAccount } from "../../../accounts/look-up.ts";
import { plannedSync } from "../../../accounts/planned-sync.ts";
import { readEffect } from "../../../accounts/read-effect.ts";
import { readPolicies } from "../../../accounts/read-policies.ts";
import type { IamClient } from "../../../console/client/client.ts";
import type { IamReader } from "../../../console/client/reader.ts";
import { IamError, type IamErrorCode, isIamError } from "../../../console/errors.ts";
import { accountEffect, type Effect, notApplied, unbindEffect } from "../../../console/evidence.ts";
import type { BindingSet, LiveBindings } from "../../../console/model.ts";
import { defineEffect } from "../../../reconciler/effects.ts";
import { asSubmitted } from "../../../util/spelling.ts";
import type { CleanUp, Revocation } from "../rules/deletion.ts";
import type { AccountKind, AccountRun, AccountSnapshot } from "../rules/snapshot.ts";
import { answerOf, sessionOf } from "./look-up.ts";

type CleanUpAnswer = CleanUp | IamError;

export const revokePolicies = defineEffect<AccountKind, AccountSnapshot, Revocation, CleanUpAnswer>(
  {
    kind: "RevokePolicies",
    call: async (revocation, snapshot, run) => ({
      answer: await answerOf(() => unbind(revocation, run.console(sessionOf(snapshot)), run)),
    }),
    planned: async (revocation, snapshot, run) => {
      const console = run.console(sessionOf(snapshot));
      const submit = async (set: BindingSet) => {
        const policies = await readPolicies(console, set.orgId, run.signal);
        return plannedSync(set, policies, console, run.signal);
      };
      const line = await answerOf(() => revoke(revocation, console, submit, run.signal));
      if (line instanceof IamError) return { answer: line };
      return { answer: resultOf(revocation, "Shown"), line };
    },
  },
);

async function unbind(
  revocation: Revocation,
  client: IamClient,
  run: Pick<AccountRun, "clock" | "signal">,
): Promise<CleanUp> {
  const { tpn, only } = revocation;
  const submit = async (set: BindingSet) => {
    await client.syncBindings(set, run.signal);
    return shownEffect(revocation, client, run);
  };
  const effect = (await revoke(revocation, client, submit, run.signal)) ?? "Shown";
  if (effect === "NotShown")
    throw notApplied(
      "syncBindings",
      `listBindings still shows ${only === undefined ? "policies" : only.join(", ")} of ${tpn}`,
    );
  return resultOf(revocation, effect);
}

function resultOf({ only }: Revocation, effect: Effect): CleanUp {
  if (effect !== "Shown") return "RevokeUnconfirmed";
  return only === undefined ? "Revoked" : "RetainNotGranted";
}

/** Whether a read shows the policies as unbound. A login without permission to read them learns nothing. */
async function shownEffect(
  { tpn, only }: Revocation,
  console: IamReader,
  run: Pick<AccountRun, "clock" | "signal">,
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
 * Submits the policies that stay, and returns what `submit` returns; `undefined` if nothing is bound that must go. A 404
 * may come from a gateway: it counts as success only if listBindings then shows no policies or also returns 404.
 */
async function revoke<Submitted>(
  { tpn, orgId, only }: Revocation,
  console: IamReader,
  submit: (set: BindingSet) => Promise<Submitted>,
  signal: AbortSignal,
): Promise<Submitted | undefined> {
  try {
    const policyIds = only === undefined ? [] : await othersBound(console, tpn, only, signal);
    return policyIds && (await submit({ tpn, orgId, policyIds }));
  } catch (error) {
    if (!isIamError(error, "NotFound") || (await hasBindings(console, tpn, signal))) throw error;
    return undefined;
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

export const deleteAccount = defineEffect<
  AccountKind,
  AccountSnapshot,
  { readonly saId: string },
  CleanUpAnswer
>({
  kind: "DeleteAccount",
  call: async ({ saId }, snapshot, run) => ({
    answer: await answerOf(async () => {
      const effect = await remove(run.console(sessionOf(snapshot)), saId, run);
      if (effect === "NotShown")
        throw notApplied("deleteServiceAccount", `the console still shows account ${saId}`);
      return effect === "Shown" ? "Deleted" : "DeleteUnconfirmed";
    }),
  }),
  planned: ({ saId }) => {
    const message = `Deletes service account ${saId}.`;
    return { answer: "Deleted", line: { call: "deleteServiceAccount", object: saId, message } };
  },
});

/**
 * A 404 counts as success only if the console no longer has the account: a wrong path in the connection also returns
 * 404.
 */
async function remove(
  client: IamClient,
  saId: string,
  run: Pick<AccountRun, "clock" | "signal">,
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
