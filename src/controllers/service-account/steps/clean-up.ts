/** Console calls of a deletion. */
import type { PlannedCall } from "../../../api/plan.ts";
import type { IamClient } from "../../../iam/client/client.ts";
import type { IamReader } from "../../../iam/client/reader.ts";
import { IamError, isIamError } from "../../../iam/errors.ts";
import type { LiveBindings } from "../../../iam/model.ts";
import type { Waiting } from "../../frame/rules/outcome.ts";
import { lookUpAccount } from "../../look-up-account.ts";
import { plannedSync } from "../../planned-sync.ts";
import type { AccountActionOf } from "../rules/snapshot.ts";
import { failureOf } from "./failure.ts";
import { sessionOf } from "./look-up.ts";
import type { AccountEffect } from "./step-types.ts";

/** The failure of the console, if there is one: a fact for the rules. */
type Failure = Waiting | undefined;
type Revocation = AccountActionOf<"RevokePolicies">;

export const revokePolicies: AccountEffect<"RevokePolicies", Failure> = {
  call: (action, { snapshot }, run) =>
    failureOf(snapshot, () => revoke(run.console(sessionOf(snapshot)), action, run.signal)),
  planned: async (action, { snapshot }, run) => {
    let line: PlannedCall | undefined;
    const answer = await failureOf(snapshot, async () => {
      line = await plannedRevocation(run.console(sessionOf(snapshot)), action, run.signal);
    });
    return { answer, line };
  },
  after: ({ only }, { snapshot, done }, failure) =>
    failure === undefined
      ? {
          snapshot,
          done: { ...done, cleanedUp: only === undefined ? "Revoked" : "RetainNotGranted" },
        }
      : { snapshot, done: { ...done, failure } },
};

async function plannedRevocation(
  console: IamReader,
  { tpn, orgId, only }: Revocation,
  signal: AbortSignal,
): Promise<PlannedCall | undefined> {
  if (only === undefined) {
    const bound = await readBindings(console, tpn, signal);
    return plannedSync({ tpn, orgId, policyIds: [] }, bound, console, signal);
  }
  return unlessGone(console, tpn, signal, async () => {
    const bound = await console.listBindings(tpn, signal);
    const policyIds = othersThan(only, bound);
    return policyIds && plannedSync({ tpn, orgId, policyIds }, bound, console, signal);
  });
}

/** The call is planned even if the login does not have permission to read the current bindings. */
async function readBindings(
  console: IamReader,
  tpn: string,
  signal: AbortSignal,
): Promise<LiveBindings> {
  try {
    return await console.listBindings(tpn, signal);
  } catch (error) {
    if (isIamError(error, "PermissionDenied") || isIamError(error, "NotFound"))
      return { readable: false };
    throw error;
  }
}

async function revoke(
  client: IamClient,
  { tpn, orgId, only }: Revocation,
  signal: AbortSignal,
): Promise<void> {
  await unlessGone(client, tpn, signal, async () => {
    const policyIds =
      only === undefined ? [] : othersThan(only, await client.listBindings(tpn, signal));
    if (policyIds !== undefined) await client.syncBindings({ tpn, orgId, policyIds }, signal);
  });
}

/** A 404 may come from a gateway: it counts as success only if listBindings then shows no policies or also returns 404. */
async function unlessGone<Answer>(
  console: IamReader,
  tpn: string,
  signal: AbortSignal,
  call: () => Promise<Answer>,
): Promise<Answer | undefined> {
  try {
    return await call();
  } catch (error) {
    if (!isIamError(error, "NotFound") || (await hasBindings(console, tpn, signal))) throw error;
    return undefined;
  }
}

/** Policies bound in addition to `policyIds`; `undefined` if none of `policyIds` is bound. */
function othersThan(
  policyIds: readonly string[],
  live: LiveBindings,
): readonly string[] | undefined {
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
