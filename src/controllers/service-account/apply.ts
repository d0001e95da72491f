import { readinessConditions } from "../../api/conditions.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { commitOutcome } from "../../iam/errors.ts";
import { KubeError } from "../../kube/errors.ts";
import { keyOf } from "../../kube/resource.ts";
import { assertNever } from "../../util/assert-never.ts";
import { parseInstant, toIso8601 } from "../../util/time.ts";
import type { ConnectionAccess, Context } from "../frame/context.ts";
import { addFinalizer } from "../frame/finalizers.ts";
import { writeStatus } from "../frame/status-writer.ts";
import { serviceAccountType } from "../resource-types.ts";
import { type Account, fromConsole } from "./account.ts";
import type { Memory } from "./memory.ts";
import type { Attempt } from "./observe.ts";
import type { Action } from "./plan.ts";

/** Another field manager reports what is bound to the account. */
export const FOREIGN_STATUS = ["bindings"] as const;

/** Where a pass has got to; the report is made from it, whether the pass succeeds or not. */
export interface Progress {
  readonly object: ServiceAccount;
  readonly account: Account | undefined;
  readonly attempt: Attempt | undefined;
  /** How the account came to be known in this pass. */
  readonly became?: "Created" | "Imported" | "Recovered";
  /** What the last action failed with. */
  readonly error?: unknown;
}

/** Carries out one action. Rejects, or answers with `error`, where the pass must stop. */
export async function apply(
  action: Action,
  before: Progress,
  memory: Memory,
  access: ConnectionAccess,
  context: Context,
  signal: AbortSignal,
): Promise<Progress> {
  switch (action.kind) {
    case "AddFinalizer": {
      const { serviceAccounts } = context.caches;
      const object = await addFinalizer(
        context,
        serviceAccountType,
        serviceAccounts,
        before.object,
      );
      return { ...before, object };
    }
    case "RecordAttempt":
      return recordAttempt(action.id, before, context, signal);
    case "CreateAccount":
      return createAccount(action, before, memory, access, context, signal);
    case "CloseAttempt":
      return { ...before, attempt: undefined };
    case "RecordAccount": {
      const { account, because } = action;
      return { ...before, account, ...(because === "Observed" ? {} : { became: because }) };
    }
    default:
      return assertNever(action);
  }
}

/** S6: from a live read, and only if nothing has changed since. */
async function recordAttempt(
  id: string,
  before: Progress,
  context: Context,
  signal: AbortSignal,
): Promise<Progress> {
  const { object } = before;
  const live = await context.kube.get(serviceAccountType, keyOf(object), { signal });
  if (live === undefined || !isAsDecided(live, object)) {
    throw new KubeError("Conflict", "the ServiceAccount has changed since it was read");
  }
  const now = context.clock.now();
  const startTime = toIso8601(now);
  const generation = live.metadata.generation ?? 0;
  const ready = {
    state: "Reconciling",
    reason: "Creating",
    message: "The account is being created at the console.",
  } as const;
  const conditions = readinessConditions(live.status?.conditions ?? [], ready, generation, now);
  const written = await writeStatus(
    context,
    serviceAccountType,
    context.caches.serviceAccounts,
    live,
    {
      ...live.status,
      observedGeneration: generation,
      conditions: [...conditions],
      attempt: { id, startTime },
    },
    {
      resourceVersion: live.metadata.resourceVersion,
      foreignFields: FOREIGN_STATUS,
      signal,
    },
  );
  return { ...before, object: written, attempt: { id, startTime: parseInstant(startTime) ?? now } };
}

function isAsDecided(live: ServiceAccount, decided: ServiceAccount): boolean {
  return (
    live.metadata.uid === decided.metadata.uid &&
    live.metadata.generation === decided.metadata.generation &&
    live.metadata.deletionTimestamp === undefined &&
    live.status?.saId === undefined &&
    live.status?.attempt?.id === decided.status?.attempt?.id
  );
}

/** Call 2, once. A refusal closes the attempt; anything else leaves it open for recovery. */
async function createAccount(
  { account }: Extract<Action, { kind: "CreateAccount" }>,
  before: Progress,
  memory: Memory,
  { client }: ConnectionAccess,
  { log }: Context,
  signal: AbortSignal,
): Promise<Progress> {
  const { attempt } = before;
  try {
    const created = await client.createServiceAccount(account, signal);
    if (attempt !== undefined) memory.created = { attempt: attempt.id, account: created };
    log.info(
      { ...keyOf(before.object), saId: created.saId, attempt: attempt?.id },
      "created service account",
    );
    const { orgId, projectId } = account;
    // The console documents that a new account has no keys.
    const known = { tpn: undefined, orgId, projectId, origin: "Created", liveKeyIds: [] } as const;
    return {
      ...before,
      account: fromConsole(created, known),
      attempt: undefined,
      became: "Created",
    };
  } catch (error) {
    return commitOutcome(error) === "NotCommitted"
      ? { ...before, attempt: undefined, error }
      : { ...before, error };
  }
}
