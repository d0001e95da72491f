import { request } from "node:https";

/** A server, the authority it must prove itself by, and who asks. */
export interface Endpoint {
  readonly url: string;
  readonly authority: string;
  readonly token: string;
}

/** One GET on a connection of its own. Rejects when there is no answer within `timeoutMs`. */
export function get(
  { url, authority, token }: Endpoint,
  path: string,
  timeoutMs = 2_000,
): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(timeoutMs);
    const call = request(new URL(path, url), { ca: authority, agent: false, headers, signal });
    call.on("error", reject);
    call.on("response", (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode, body }));
    });
    call.end();
  });
}
