import type { Instant } from "../../util/time.ts";
import { type ClientSettings, clientSettings } from "./client-settings.ts";
import type { Observed } from "./observe.ts";
import type { SessionIdentity } from "./sessions.ts";

export type Action =
  | { readonly kind: "AddFinalizer"; readonly because: string }
  | { readonly kind: "RemoveFinalizer"; readonly because: string }
  | { readonly kind: "CloseSession"; readonly because: string }
  | {
      readonly kind: "OpenSession";
      readonly because: string;
      readonly identity: SessionIdentity;
      readonly settings: ClientSettings;
    }
  /** Costs nothing while a token is at hand. */
  | { readonly kind: "Authenticate"; readonly because: string };

export function plan(seen: Observed, now: Instant): readonly Action[] {
  if (seen.deleting && seen.users.length === 0) return letGo(seen);
  return [
    ...(seen.held || seen.deleting
      ? []
      : [{ kind: "AddFinalizer", because: "FinalizerIsMissing" } as const]),
    ...planSession(seen, now),
  ];
}

function letGo({ session, held }: Observed): readonly Action[] {
  return [
    ...(session === undefined ? [] : [{ kind: "CloseSession", because: "Deleted" } as const]),
    ...(held ? [{ kind: "RemoveFinalizer", because: "NotInUse" } as const] : []),
  ];
}

function planSession(seen: Observed, now: Instant): readonly Action[] {
  const { spec, session } = seen;
  if (!spec.ok) return closeUnlessLeaving(seen, "InvalidSpec");
  if (!spec.credentials.ok) return closeUnlessLeaving(seen, spec.credentials.reason);
  if (spec.identity === undefined) return [];
  const change = changeOf(seen, spec.identity);
  if (change !== undefined) {
    const settings = clientSettings(spec.spec, spec.credentials.credentials);
    return [{ kind: "OpenSession", because: change, identity: spec.identity, settings }];
  }
  const isPaused =
    session !== undefined && !session.usable && now < (session.refusal?.until ?? now);
  return isPaused ? [] : [{ kind: "Authenticate", because: "CheckIsDue" }];
}

/** Credentials that were taken away are no longer used, except to clean up what is going away with them. */
function closeUnlessLeaving(
  { session, deleting, namespaceTerminating }: Observed,
  because: string,
): readonly Action[] {
  return session === undefined || deleting || namespaceTerminating
    ? []
    : [{ kind: "CloseSession", because }];
}

function changeOf({ session, asked }: Observed, wanted: SessionIdentity): string | undefined {
  if (session === undefined) return "NoSession";
  const { identity } = session;
  if (identity.uid !== wanted.uid) return "Recreated";
  if (identity.spec !== wanted.spec) return "SpecChanged";
  if (identity.secretUid !== wanted.secretUid || identity.secretVersion !== wanted.secretVersion) {
    return "SecretChanged";
  }
  return asked === undefined ? undefined : "Requested";
}
