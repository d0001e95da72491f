/** Why the operator does not make progress with an object: ordered rules over the objects' statuses. Pure. */
import { isTrue } from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
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

const suspended =
  (pick: (chain: Chain) => AnyObject | undefined): Rule =>
  (chain) => {
    const object = pick(chain);
    if (object?.spec?.suspend !== true) return undefined;
    return {
      text: `${nameOf(object)} is suspended; ${commandAbout("resume", object)} lets it continue`,
      isFinal: true,
    };
  };

const notReady =
  (pick: (chain: Chain) => AnyObject | undefined): Rule =>
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
  (pick: (chain: Chain) => AnyObject | undefined, ...types: readonly string[]): Rule =>
  (chain) => {
    const found = pick(chain)?.status?.conditions?.find(
      ({ type, status }) => status === "False" && types.includes(type),
    );
    return found && { text: `${found.reason}: ${found.message}` };
  };

const itself = ({ object }: Chain) => object;
const account = (chain: Chain) => chain.account;
const connection = (chain: Chain) => chain.connection;

const rules: readonly Rule[] = [
  suspended(itself),
  ({ object }) =>
    object.metadata.annotations?.[annotations.planOnly] === "true"
      ? { text: `the annotation ${annotations.planOnly} holds it back`, isFinal: true }
      : undefined,
  suspended(account),
  suspended(connection),
  notReady(connection),
  refuses(connection, "Authenticated", "ConsoleAvailable", "Available"),
  notReady(account),
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

const SETTLED: ReadonlySet<string> = new Set([
  "KeyDelivered",
  "Created",
  "Imported",
  "Synced",
  "Listed",
  "Authenticated",
]);

/** `undefined`: no object reports a problem, so the operator has not looked yet. */
export function whyHeld(chain: Chain): Missing | undefined {
  for (const rule of rules) {
    const found = rule(chain);
    if (found !== undefined) return found;
  }
  return undefined;
}
