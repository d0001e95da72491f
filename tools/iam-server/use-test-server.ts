import { afterAll } from "vitest";
import { type IamServerOptions, startIamServer } from "./server.ts";
import { TestClient } from "./test-client.ts";

/** A server for the tests of a file, and its client. */
export async function useTestServer(options: IamServerOptions = {}) {
  const server = await startIamServer(options);
  afterAll(() => server.close());
  return { server, client: new TestClient(server) };
}
