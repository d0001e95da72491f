/** How the answer of a call is read. */
import { isIamError } from "../errors.ts";
import { readAnswer, readBody, requireSuccess } from "../exchange/exchange.ts";
import type { Exchanged } from "../exchange/failures.ts";
import type { Json } from "../model.ts";
import { readAcknowledgement } from "../wire/acknowledgement.ts";

/** Sends the call, once for each page that the answer needs, and reads the answer. */
export type ReadAnswer<Input, Answer> = (
  send: (page: number) => Promise<Exchanged>,
  input: Input,
) => Promise<Answer>;

export function readJson<Input, Answer>(
  read: (json: Json, input: Input) => Answer,
): ReadAnswer<Input, Answer> {
  return async (send, input) => readAnswer(await send(1), (json) => read(json, input));
}

/** Reads an answer that contains a secret, and wipes its bytes. */
export function readOnce<Answer>(read: (json: Json) => Answer): ReadAnswer<unknown, Answer> {
  return async (send) => {
    const exchanged = await send(1);
    try {
      return readAnswer(exchanged, read);
    } finally {
      exchanged.response.body.fill(0);
    }
  };
}

/** Any JSON; `null` if the body is empty. */
export const readOpaque: ReadAnswer<unknown, Json> = async (send) => {
  const exchanged = await send(1);
  requireSuccess(exchanged);
  return exchanged.response.body.length === 0 ? null : readAnswer(exchanged, (json) => json);
};

/**
 * Only whether the call was answered. A page, or JSON that reports an error, comes from a gateway even with a status of
 * success: MalformedResponse, so that the call counts as unanswered.
 */
export const readAcknowledged: ReadAnswer<unknown, void> = async (send) =>
  readBody(await send(1), readAcknowledgement);

/** NotFound is always the 404 of this call: a 404 of the login is Unauthenticated. */
export function undefinedIfNotFound<Input, Answer>(
  read: ReadAnswer<Input, Answer>,
): ReadAnswer<Input, Answer | undefined> {
  return async (send, input) => {
    try {
      return await read(send, input);
    } catch (error) {
      if (isIamError(error, "NotFound")) return undefined;
      throw error;
    }
  };
}
