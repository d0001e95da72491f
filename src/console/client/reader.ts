import { type DocumentedCall, documentedCalls, type Endpoints, endpoints } from "../endpoints.ts";
import type { IamClient } from "./client.ts";

type Reads<N extends DocumentedCall> = Endpoints[N]["isMutating"] extends false ? N : never;
type ReadingCall = { [N in DocumentedCall]: Reads<N> }[DocumentedCall];

/** Read-only access to one console: there is no method that changes anything. */
export type IamReader = Pick<IamClient, ReadingCall | "authenticate" | "clockSkew" | "consoleTime">;

/** A separate object with only the reading methods of a client. */
export function toIamReader(client: IamClient): IamReader {
  const { authenticate, clockSkew, consoleTime } = client;
  const calls = documentedCalls
    .filter((name) => !endpoints[name].isMutating)
    .map((name) => [name, client[name]] as const);
  return {
    ...(Object.fromEntries(calls) as Pick<IamClient, ReadingCall>),
    authenticate,
    clockSkew,
    consoleTime,
  };
}
