import { type ExtraOperation, extraOperations } from "../model.ts";
import type { IamClient } from "./client.ts";

/** The calls that change nothing in the console. */
const readingMethods = [
  "authenticate",
  "listServiceAccounts",
  "getServiceAccount",
  "validateKey",
  "listPolicies",
  "listBindings",
  "evaluatePolicy",
  "listInstances",
  "listResourceQuotas",
  "searchActions",
  "clockSkew",
] as const satisfies readonly (keyof IamClient)[];

/** One console, to be looked at only: there is no method by which anything could be changed. */
export type IamReader = Pick<IamClient, (typeof readingMethods)[number]> & {
  /** Calls that the connection names: what may be planned. */
  readonly extraCalls: ReadonlySet<ExtraOperation>;
};

/** The reading half of a client, as an object of its own. */
export function toIamReader(client: IamClient): IamReader {
  const methods = readingMethods.map((name) => [name, client[name].bind(client)]);
  const extraCalls = new Set(extraOperations.filter((name) => client.extra[name] !== undefined));
  return { ...(Object.fromEntries(methods) as Omit<IamReader, "extraCalls">), extraCalls };
}
