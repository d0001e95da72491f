import { z } from "zod";
import { ACTIONS } from "../actions.ts";
import { type Endpoint, parseBody, record } from "../call.ts";
import { accountInPath, requireOnAccount } from "./get-service-account.ts";
import { fullKey } from "./service-account-records.ts";

const Body = z.object({ description: z.string(), expiresInDays: z.int().min(1) });

/** Call 5: a new key every time it is called; its secret is in this answer and nowhere else. */
export const issueKey: Endpoint = (call) => {
  const { world } = call;
  const wanted = parseBody(Body, call.body);
  const account = accountInPath(call);
  requireOnAccount(call, ACTIONS.issueKey, account);
  const { key, secret } = world.issueKey(account.saId, wanted, call.keyPropagationMs);
  const pair = { keyId: key.keyId, secret };
  const isBare = call.shapes.issuedKey === "pair";
  return record(201, isBare ? pair : { ...fullKey(key, world.clock.now()), ...pair });
};
