import type { IamClient } from "../../src/console/client/client.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { startWeb } from "../support/local-server.ts";
import { clientOf } from "../unit/console/clients.ts";

/** A client of a console that gives every call this answer. */
export async function clientAnswered(answer: unknown): Promise<IamClient> {
  const body = typeof answer === "string" ? answer : JSON.stringify(answer);
  const { url } = await startWeb((_, response) => response.end(body));
  return clientOf({ url }, { credentials: { kind: "token", token: new Redacted("token") } });
}
