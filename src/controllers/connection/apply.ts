import { type IamError, isIamError } from "../../iam/errors.ts";
import type { ResourceType } from "../../kube/resource.ts";
import type { Store } from "../../kube/store/store.ts";
import { assertNever } from "../../util/assert-never.ts";
import type { Context } from "../context.ts";
import { addFinalizer, removeFinalizer } from "../finalizers.ts";
import type { ConnectionRegistry } from "./connections.ts";
import type { AnyConnection } from "./kind-name.ts";
import { type LoginReason, loginReason } from "./login-reason.ts";
import type { Action } from "./plan.ts";
import type { Session } from "./sessions.ts";

/** How the login stands after a pass. */
export type Login =
  | { readonly kind: "Accepted"; readonly isNew: boolean }
  | { readonly kind: "Failed"; readonly reason: LoginReason; readonly error: IamError };

export interface Applied<T> {
  readonly object: T;
  readonly login?: Login;
  /** The finalizer is gone: there is nothing left to report on. */
  readonly gone: boolean;
}

export interface ApplyDeps<T extends AnyConnection> {
  readonly type: ResourceType<T>;
  readonly store: Store<T>;
  readonly registry: ConnectionRegistry;
}

/** Carries out one action on a connection known to the registry by `key`. */
export async function apply<T extends AnyConnection>(
  action: Action,
  before: Applied<T>,
  key: string,
  context: Context,
  { type, store, registry }: ApplyDeps<T>,
  signal: AbortSignal,
): Promise<Applied<T>> {
  const { sessions } = registry;
  const { object } = before;
  switch (action.kind) {
    case "AddFinalizer":
      return { ...before, object: await addFinalizer(context, type, store, object) };
    case "RemoveFinalizer":
      await removeFinalizer(context, type, object);
      return { ...before, gone: true };
    case "CloseSession":
      sessions.remove(key);
      return before;
    case "OpenSession": {
      const client = sessions.prepare(key, action.settings);
      const usable = action.because !== "SpecChanged" && (sessions.get(key)?.usable ?? false);
      const session = { identity: action.identity, client, usable, reason: "" };
      return { ...before, login: await logIn(session, key, registry, signal) };
    }
    case "Authenticate": {
      const session = sessions.get(key);
      return session === undefined
        ? before
        : { ...before, login: await logIn(session, key, registry, signal) };
    }
    default:
      return assertNever(action);
  }
}

/** Logs in and puts the session into use, whatever came of it: its client remembers failed logins. */
async function logIn(
  session: Session,
  key: string,
  { sessions }: ConnectionRegistry,
  signal: AbortSignal,
): Promise<Login> {
  const wasUsable = sessions.get(key)?.client === session.client && session.usable;
  try {
    await session.client.authenticate(signal);
    const latest = sessions.get(key);
    const current = latest?.client === session.client ? latest : session;
    sessions.put(key, { ...current, usable: true, reason: "" });
    return { kind: "Accepted", isNew: !wasUsable };
  } catch (error) {
    if (!isIamError(error)) {
      if (sessions.get(key)?.client !== session.client) await session.client.close();
      throw error;
    }
    const reason = loginReason(error);
    // A console that is merely down takes no right away: calls fail as transient, and are tried again.
    const usable = session.usable && reason === "ConsoleUnavailable";
    sessions.put(key, { ...session, usable, reason });
    return { kind: "Failed", reason, error };
  }
}
