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

/** Read-only access to one console: there is no method that changes anything. */
export type IamReader = Pick<IamClient, (typeof readingMethods)[number]> & {
  /** The calls that the connection configures, and that can therefore be planned. */
  readonly extraCalls: ReadonlySet<ExtraOperation>;
};

/** A separate object with only the reading methods of a client. */
export function toIamReader(client: IamClient): IamReader {
  const methods = readingMethods.map((name) => [name, client[name].bind(client)]);
  const extraCalls = new Set(extraOperations.filter((name) => client.extra[name] !== undefined));
  return { ...(Object.fromEntries(methods) as Omit<IamReader, "extraCalls">), extraCalls };
}
