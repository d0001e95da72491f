/** Console calls of a deletion. */
import type { PlannedCall } from "../../../api/plan.ts";
import type { IamClient } from "../../../iam/client/client.ts";
import type { IamReader } from "../../../iam/client/reader.ts";
import { IamError, isIamError } from "../../../iam/errors.ts";
import type { BindingSet } from "../../../iam/model.ts";
import type { Waiting } from "../../frame/rules/outcome.ts";
import { lookUpAccount } from "../../look-up-account.ts";
import { plannedSync } from "../../planned-sync.ts";
import type { AccountActionOf } from "../rules/snapshot.ts";
import { failureOf } from "./failure.ts";
import { sessionOf } from "./look-up.ts";
import type { AccountEffect } from "./step-types.ts";

/** The failure of the console, if there is one: a fact for the rules. */
type Failure = Waiting | undefined;

export const revokePolicies: AccountEffect<"RevokePolicies", Failure> = {
  call: (action, { snapshot }, { console, signal }) => {
    const client = console(sessionOf(snapshot));
    const submit = (set: BindingSet) => client.syncBindings(set, signal);
    return failureOf(snapshot, () => revoke(action, client, submit, signal));
  },
  planned: async (action, { snapshot }, run) => {
    const console = run.console(sessionOf(snapshot));
    let line: PlannedCall | undefined;
    const submit = async (set: BindingSet) => {
      line = await plannedSync(set, console, run.signal);
    };
    const answer = await failureOf(snapshot, () => revoke(action, console, submit, run.signal));
    return { answer, line };
  },
  after: ({ only }, { snapshot, done }, failure) => {
    const cleanedUp = only === undefined ? "Revoked" : "RetainNotGranted";
    return {
      snapshot,
      done: failure === undefined ? { ...done, cleanedUp } : { ...done, failure },
    };
  },
};

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
  const others = live.policyIds.filter((id) => !policyIds.includes(id));
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

export const deleteAccount: AccountEffect<"DeleteAccount", Failure> = {
  call: ({ saId }, { snapshot }, run) =>
    failureOf(snapshot, () => remove(run.console(sessionOf(snapshot)), saId, run.signal)),
  planned: ({ saId }) => {
    const message = `Deletes service account ${saId}.`;
    return { answer: undefined, line: { call: "deleteServiceAccount", object: saId, message } };
  },
  after: (_, { snapshot, done }, failure) => ({
    snapshot,
    done: failure === undefined ? { ...done, cleanedUp: "Deleted" } : { ...done, failure },
  }),
};

/**
 * A 404 counts as success only if the console no longer has the account: a wrong path in the connection also returns
 * 404.
 */
async function remove(client: IamClient, saId: string, signal: AbortSignal): Promise<void> {
  try {
    await client.deleteServiceAccount?.(saId, signal);
  } catch (error) {
    if (!isIamError(error, "NotFound")) throw error;
    if ((await lookUpAccount(client, saId, signal)) !== undefined) throw error;
  }
}
