import * as z from "zod";
import { Redacted } from "../../util/redacted.ts";
import type { Json } from "../model.ts";
import { isJsonObject } from "./json.ts";
import { payloadOf } from "./listing.ts";
import { ShapeError } from "./shape-error.ts";

export type LoginAnswer =
  | { readonly kind: "Token"; readonly token: Redacted }
  | { readonly kind: "MfaRequired" };

/** In characters. Headers are not longer, and each connection keeps its token in memory. */
const LONGEST_TOKEN = 16_384;
/** Visible ASCII, which a header transports unchanged. */
const Token = z
  .string()
  .max(LONGEST_TOKEN)
  .regex(/^[\x21-\x7e]+$/);

/** Reads the answer of login. `mfaRequired` decides, even if there is also a token. */
export function readLogin(json: Json): LoginAnswer {
  const payload = payloadOf(json);
  if (!isJsonObject(payload)) throw new ShapeError("the answer lacks a login result");
  if (payload.mfaRequired === true) return { kind: "MfaRequired" };
  const token = Token.safeParse(payload.accessToken);
  if (!token.success) throw new ShapeError("the answer lacks a usable accessToken");
  return { kind: "Token", token: new Redacted(token.data) };
}
