/** Why the operator does not make progress with an object: ordered rules over the objects' statuses. Pure. */
import { isTrue } from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
import { isPlanOnly } from "../../api/plan-only.ts";
import { readinessOf } from "../view/readiness.ts";
import { type AnyObject, commandAbout, nameOf } from "./kinds.ts";
import type { Missing } from "./wait.ts";

/** An object with the objects that it needs. */
export interface Chain {
  readonly object: AnyObject;
  /** For ApiKeys and PolicyBindings. `undefined` if it cannot be read. */
  readonly account?: AnyObject | undefined;
  readonly connection?: AnyObject | undefined;
}

type Rule = (chain: Chain) => Missing | undefined;
type Pick = (chain: Chain) => AnyObject | undefined;

const suspended =
  (pick: Pick): Rule =>
  (chain) => {
    const object = pick(chain);
    if (object?.spec?.suspend !== true) return undefined;
    return {
      text: `${nameOf(object)} is suspended; ${commandAbout("resume", object)} lets it continue`,
      isFinal: true,
    };
  };

const notReady =
  (pick: Pick): Rule =>
  (chain) => {
    const object = pick(chain);
    if (object === undefined) return undefined;
    const { ready, reason, message, isStalled } = readinessOf(object);
    if (ready === "True") return undefined;
    const name = object === chain.object ? "" : `${nameOf(object)} is not ready: `;
    return { text: `${name}${reason}: ${message}`, isFinal: isStalled };
  };

/** A False condition other than Ready says why nothing happens, although the object can be used. */
const refuses =
  (pick: Pick, ...types: readonly string[]): Rule =>
  (chain) => {
    const found = pick(chain)?.status?.conditions?.find(
      ({ type, status }) => status === "False" && types.includes(type),
    );
    return found && { text: `${found.reason}: ${found.message}` };
  };

const itself = ({ object }: Chain) => object;
const account = (chain: Chain) => chain.account;
const connection = (chain: Chain) => chain.connection;

const pauses: readonly Rule[] = [
  suspended(itself),
  ({ object }) =>
    isPlanOnly(object)
      ? { text: `the annotation ${annotations.planOnly} holds it back`, isFinal: true }
      : undefined,
];

const reports: readonly Rule[] = [
  notReady(itself),
  refuses(itself, "IssuanceAllowed", "Verified"),
  // The object is ready, but something prevents progress, such as a console that is down.
  ({ object }) => {
    const { reason, message } = readinessOf(object);
    return isTrue(object.status?.conditions, "Ready") && !SETTLED.has(reason)
      ? { text: `${reason}: ${message}` }
      : undefined;
  },
];

/** Causes outside the object. They count only if the object itself reports that it is held up. */
const causes: readonly Rule[] = [
  suspended(connection),
  notReady(connection),
  refuses(connection, "Authenticated", "ConsoleAvailable", "Available"),
  notReady(account),
];

const SETTLED: ReadonlySet<string> = new Set([
  "KeyDelivered",
  "Created",
  "Imported",
  "Synced",
  "Listed",
  "Authenticated",
]);

/** `undefined`: the object reports no problem, so the operator has not looked yet. */
export function whyHeld(chain: Chain): Missing | undefined {
  return first(pauses, chain) ?? whyHeldByReport(chain);
}

/** Leaves out `spec.suspend` and plans, which do not hold up everything: access is revoked regardless. */
export function whyHeldByReport(chain: Chain): Missing | undefined {
  const report = first(reports, chain);
  return report && (first(causes, chain) ?? report);
}

function first(rules: readonly Rule[], chain: Chain): Missing | undefined {
  for (const rule of rules) {
    const found = rule(chain);
    if (found !== undefined) return found;
  }
  return undefined;
}
