import { documentedCalls, endpoints, extraOperations, type Operation } from "../endpoints.ts";
import type { Calls, IamClient } from "./client.ts";
import type { Endpoint } from "./endpoint.ts";

/** The calls of `client`, each made by `around`; `usesLogin`: as the connection's user, and not with an API key. */
export function wrapCalls(
  client: IamClient,
  around: (call: () => Promise<unknown>, usesLogin: boolean) => Promise<unknown>,
): Calls {
  const wrapped = [...documentedCalls, ...extraOperations].flatMap((name) => {
    const call = client[name] as ((...args: unknown[]) => Promise<unknown>) | undefined;
    if (call === undefined) return [];
    const method = (input: unknown, signal?: AbortSignal) =>
      around(() => call(input, signal), usesLogin(name, input));
    return [[name, method] as const];
  });
  return Object.fromEntries(wrapped) as unknown as Calls;
}

function usesLogin(name: Operation, input: unknown): boolean {
  const rows: Readonly<Record<string, Endpoint<never, unknown>>> = endpoints;
  const { isPublic, key } = rows[name] ?? {};
  return !isPublic && key?.(input as never) === undefined;
}
