/** An ApiKey that gets a key of another account: no permission is lost on the way, and every key is known with its account. */
import { serviceAccountType } from "../../../src/resources/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { accountsOf, asApiKey, asSecret, isTarget, pairOf, placeOf } from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

/** Between what a run has read and its write, and until a status shows what others have bound. */
const KNOWN_MS = 2 * MINUTE;

/** Consumers of a key that works get no key of an account without policies, unless a person has revoked access. */
export const permissionsStay: CreateWatcher = (world) => {
  /** By TPN: since when no policy is bound. */
  const emptySince = new Map<string, number>();
  /** By TPN: when policies were last bound. */
  const boundUntil = new Map<string, number>();
  return {
    onConsoleChange: (change) => {
      if (change.kind !== "bindingsReplaced") return undefined;
      const { elapsed } = world.kernel;
      if (change.before.length > 0) boundUntil.set(change.tpn, elapsed);
      if (change.after.length === 0) emptySince.set(change.tpn, elapsed);
      else emptySince.delete(change.tpn);
      return undefined;
    },
    onChange: ({ change, byOperator }) => {
      const { kind, previous, object } = change;
      if (!byOperator || kind.type.kind !== "Secret" || previous === undefined) return undefined;
      if (change.type !== "MODIFIED" || world.hasMeddled || !isTarget(asSecret(object)))
        return undefined;
      const [old, now] = [previous, object].map((each) => pairOf(asSecret(each))?.keyId ?? "");
      const [from, to] = [old, now].map((keyId) => accountOf(keyId ?? ""));
      if (from === undefined || to === undefined || from.tpn === to.tpn) return undefined;
      if (world.console.world.whyKeyIsRefused(old ?? "") !== undefined) return undefined;
      return hadPolicies(from.tpn) && !hasPolicies(to.tpn) && !isRevoked(to.saId)
        ? `${placeOf(asSecret(object))} changes from ${old} to ${now}, whose account has no policy`
        : undefined;
    },
  };

  function accountOf(keyId: string) {
    const { keys, accounts } = world.console.world;
    return accounts.get(keys.get(keyId)?.saId ?? "");
  }

  function hadPolicies(tpn: string): boolean {
    const since = emptySince.get(tpn) ?? Number.POSITIVE_INFINITY;
    return world.console.world.boundTo(tpn).length > 0 || world.kernel.elapsed < since;
  }

  function hasPolicies(tpn: string): boolean {
    const until = boundUntil.get(tpn) ?? Number.NEGATIVE_INFINITY;
    return world.console.world.boundTo(tpn).length > 0 || world.kernel.elapsed - until < KNOWN_MS;
  }

  function isRevoked(saId: string): boolean {
    return accountsOf(world).some(
      ({ spec, status }) => status?.saId === saId && spec.access === "Revoked",
    );
  }
};

/** A status names each key with the account that it belongs to: calls about it use no other. */
export const keysHaveTheirAccount: CreateWatcher = (world) => ({
  onChange: ({ change, byOperator }) => {
    if (!byOperator || change.kind.type.kind !== "ApiKey" || change.type === "DELETED")
      return undefined;
    if (world.hasMeddled) return undefined;
    const { current, superseded = [], orphaned = [] } = asApiKey(change.object).status ?? {};
    const wrong = [current, ...superseded, ...orphaned].find((key) => {
      const issued = world.console.world.keys.get(key?.keyId ?? "");
      return issued !== undefined && issued.saId !== key?.saId;
    });
    return wrong && `a status names ${wrong.keyId} as a key of ${wrong.saId ?? "no account"}`;
  },
});

/** A key that an ApiKey names is not reported as unmanaged. */
export const namedKeysAreManaged: CreateWatcher = (world) => ({
  onChange: ({ change, byOperator }) => {
    const { kind, object, previous } = change;
    if (!byOperator || kind.type.kind !== serviceAccountType.kind || world.hasMeddled)
      return undefined;
    const before = new Set(unmanagedIn(previous));
    const named = new Set(
      world.kube.storage.all
        .filter(({ kind: { type } }) => type.kind === "ApiKey")
        .map(({ object: apiKey }) => asApiKey(apiKey).status)
        .flatMap((status) => [status?.current, ...(status?.superseded ?? [])])
        .map((key) => key?.keyId),
    );
    const wrong = unmanagedIn(object).find((keyId) => !before.has(keyId) && named.has(keyId));
    return wrong && `${wrong} is reported as unmanaged, and an ApiKey names it`;
  },
});

function unmanagedIn(object: object = {}): readonly string[] {
  const { status } = object as ReturnType<typeof accountsOf>[number];
  return (status?.unmanagedKeys ?? []).map(({ keyId }) => keyId);
}
