/** A console in the hands of a tenant: answers whatever it likes. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { IamClient } from "../../src/iam/client/client.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { clientOf } from "../unit/iam/clients.ts";

/** The URL of a server that ends with the test. */
export async function startHostileConsole(
  listener: RequestListener,
  onConnection: () => void = () => undefined,
): Promise<string> {
  const server = createServer(listener).on("connection", onConnection);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A client of a console that gives every call this answer. */
export async function clientAnswered(answer: unknown): Promise<IamClient> {
  const body = typeof answer === "string" ? answer : JSON.stringify(answer);
  const url = await startHostileConsole((_, response) => response.end(body));
  return clientOf({ url }, { credentials: { kind: "token", token: new Redacted("token") } });
}
