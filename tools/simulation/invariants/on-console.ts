/** What must hold of every change at the console. */
import { FINALIZER } from "../../../src/api/meta.ts";
import type { Change } from "../../iam-server/world.ts";
import type { SimWorld } from "../sim-world.ts";
import { accountsOf, apiKeysOf, bindingsOf, issuerOf, placeOf } from "./view.ts";

export type ConsoleCheck = (world: SimWorld, change: Change) => string | undefined;

function issued(world: SimWorld, change: Change) {
  return change.kind === "keyIssued" ? world.console.world.keys.get(change.keyId) : undefined;
}

/** What a gateway does now was decided on when it was sent: what has been declared since is not its fault. */
function isPutOff({ journal, kernel }: SimWorld): boolean {
  return journal.putOff(kernel.elapsed) !== undefined;
}

const intentIsAhead: ConsoleCheck = (world, change) => {
  const key = issued(world, change);
  if (key === undefined) return undefined;
  const issuer = issuerOf(key.description);
  const object = apiKeysOf(world).find((each) => placeOf(each) === issuer?.key);
  if (object !== undefined && object.status?.attempt?.id === issuer?.attempt) return undefined;
  // Deleted while the call was under way: nobody is left to announce anything.
  if (object === undefined || world.hasMeddled || isPutOff(world)) return undefined;
  return `${key.keyId} was issued without an announced attempt`;
};

const accountIntentIsAhead: ConsoleCheck = (world, change) => {
  if (change.kind !== "serviceAccountCreated" || world.hasMeddled) return undefined;
  if (!world.console.ownChanges.has(change) || isPutOff(world)) return undefined;
  return accountsOf(world).some(({ status }) => status?.attempt !== undefined)
    ? undefined
    : `${change.saId} was created without an announced attempt`;
};

/** Otherwise a deletion would let the object go while the console has what was made for it. */
const finalizerIsAhead: ConsoleCheck = (world, change) => {
  const key = issued(world, change);
  if (key === undefined || world.hasMeddled || isPutOff(world)) return undefined;
  const place = issuerOf(key.description)?.key;
  const object = apiKeysOf(world).find((each) => placeOf(each) === place);
  return object === undefined || isHeld(object)
    ? undefined
    : `${key.keyId} was issued before the finalizer was on ${place}`;
};

function isHeld({ metadata }: { metadata: { finalizers?: readonly string[] } }): boolean {
  return metadata.finalizers?.includes(FINALIZER) === true;
}

/** A crash or a deletion after the call leaves no policy that no PolicyBinding accounts for. */
const bindingsAreOnRecord: ConsoleCheck = (world, change) => {
  if (change.kind !== "bindingsReplaced" || world.hasMeddled || isPutOff(world)) return undefined;
  if (!world.console.ownChanges.has(change)) return undefined;
  const account = accountsOf(world).find(({ status }) => status?.tpn === change.tpn);
  const own = bindingsOf(world).filter(
    ({ spec, metadata }) =>
      spec.serviceAccountRef.name === account?.metadata.name &&
      metadata.namespace === account.metadata.namespace,
  );
  const recorded = own.filter(isHeld).flatMap(({ status }) => status?.appliedPolicyIds ?? []);
  const wrong = change.after.find(
    (id) =>
      !change.before.includes(id) &&
      !recorded.includes(id) &&
      own.some(({ spec }) => spec.policyIds.includes(id)),
  );
  return wrong && `bound ${wrong}, which no PolicyBinding with a finalizer has on record`;
};

const nothingWantedIsRevoked: ConsoleCheck = (world, change) => {
  if (change.kind !== "bindingsReplaced" || world.hasMeddled || isPutOff(world)) return undefined;
  if (!world.console.ownChanges.has(change)) return undefined;
  const account = accountsOf(world).find(({ status }) => status?.tpn === change.tpn);
  if (account?.spec.access === "Revoked") return undefined;
  const wanted = bindingsOf(world)
    .filter(({ spec, metadata }) => {
      const isOfIt = spec.serviceAccountRef.name === account?.metadata.name;
      return isOfIt && metadata.deletionTimestamp === undefined;
    })
    .flatMap(({ spec }) => spec.policyIds);
  const lost = change.before.filter((id) => !change.after.includes(id) && wanted.includes(id));
  return lost.length === 0 ? undefined : `revoked ${lost.join(", ")}, which a binding wants`;
};

const nothingForbiddenIsBound: ConsoleCheck = (world, change) => {
  if (change.kind !== "bindingsReplaced") return undefined;
  const wrong = change.after.find((id) => world.console.world.policies.get(id)?.kind === "scp");
  return wrong && `bound ${wrong}, which is of kind scp`;
};

export const consoleChecks: Readonly<Record<string, ConsoleCheck>> = {
  "S6 intent": intentIsAhead,
  "S6 finalizer": finalizerIsAhead,
  "S6 intent (account)": accountIntentIsAhead,
  "S10 completeness": nothingWantedIsRevoked,
  "S11 record": bindingsAreOnRecord,
  "S12 scope": nothingForbiddenIsBound,
};
