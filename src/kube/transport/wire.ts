/** undici's answers and errors in our own terms. */
import { HttpError } from "../../http/http.ts";

/** Reads a body to its end; stops at the bound and gives the connection up. */
export async function boundedBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early destroys the body, and with it the connection.
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) {
      throw new HttpError("tooLarge", `the answer has more than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

export function flatHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
}

/** The same chunks; what goes wrong comes as HttpError. */
export async function* rethrowing(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw toHttpError(error, signal);
  }
}

/** undici's own messages name hosts and codes; ours name the failure only. */
export function toHttpError(error: unknown, signal: AbortSignal): HttpError {
  if (error instanceof HttpError) return error;
  if (signal.aborted && signal.reason instanceof HttpError) return signal.reason;
  const code = codeOf(error);
  const options = { cause: error };
  if (isBeforeSending(error, code)) {
    return new HttpError("refused", `no connection (${code})`, options);
  }
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT") {
    return new HttpError("timeout", "no answer in time", options);
  }
  return new HttpError("network", `the connection failed (${code})`, options);
}

const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Some codes also occur on established connections, so the system call counts for those. */
function isBeforeSending(error: unknown, code: string): boolean {
  if (NEVER_CONNECTED.has(code)) return true;
  return (
    field(error, "syscall") === "connect" ||
    /^(ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)
  );
}

function codeOf(error: unknown): string {
  return field(error, "code") ?? (error instanceof Error ? error.name : "unknown");
}

function field(error: unknown, name: "code" | "syscall"): string | undefined {
  if (typeof error !== "object" || error === null || !(name in error)) return undefined;
  const value = (error as Record<string, unknown>)[name];
  return typeof value === "string" ? value : undefined;
}
