/** A console in the hands of a tenant that gives out an account of another console as the tenant's own. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { startWeb } from "../support/local-server.ts";

interface Account {
  readonly saId: string;
  readonly tpn: string;
  readonly orgId: string;
}

export interface Impostor {
  readonly url: string;
  /** How many looks at the account wait for an answer. */
  readonly held: number;
  /** From now on, looks at the account are not answered. */
  hold(): void;
  /** Answers them all. */
  release(): void;
}

/** Knows one account, and creates it whatever is asked for; all lists are empty. */
export async function startImpostor(account: Account): Promise<Impostor> {
  const held: (() => void)[] = [];
  let holds = false;
  const { url } = await startWeb((request, response) => {
    if (holds && isLook(request, account)) held.push(() => answer(request, response, account));
    else answer(request, response, account);
  });
  return {
    url,
    get held() {
      return held.length;
    },
    hold: () => {
      holds = true;
    },
    release: () => {
      holds = false;
      for (const answerLate of held.splice(0)) answerLate();
    },
  };
}

function isLook({ url }: IncomingMessage, { saId }: Account): boolean {
  return url?.endsWith(`/${saId}`) === true;
}

function answer(request: IncomingMessage, response: ServerResponse, account: Account): void {
  const { method, url = "" } = request;
  const { saId, tpn, orgId } = account;
  const isCreation = method === "POST" && url.endsWith("/service-accounts");
  const others = url.endsWith("/login") ? { accessToken: "token" } : [];
  const isRecord = isCreation || isLook(request, account);
  const body = isRecord ? { saId, tpn, orgId, status: "active", keys: [] } : others;
  response.end(JSON.stringify(body));
}
