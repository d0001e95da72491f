import { describe, expect, test } from "vitest";
import { commitOutcome, quoteServerText } from "../../../src/console/errors.ts";
import { statusFailure, transportFailure } from "../../../src/console/exchange/failures.ts";
import { spellings } from "../../../src/console/exchange/secret-spellings.ts";
import { HttpError, type HttpFailure } from "../../../src/http/http.ts";
import { parseRetryAfter } from "../../../src/http/retry-after.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { MINUTE } from "../../../src/util/time.ts";

const NOW = Date.UTC(2026, 0, 1, 12);

const answered = (status: number, body: string, headers: Record<string, string> = {}) =>
  statusFailure({
    operation: "issueKey",
    response: { status, headers, body: Buffer.from(body) },
    secrets: [new Redacted("hunter2-and-more")],
    receivedAt: NOW,
  });

describe("an answer's status", () => {
  test.each([
    [301, "MalformedResponse", "Unknown"],
    [304, "MalformedResponse", "Unknown"],
    [400, "FailedPrecondition", "Unknown"],
    [401, "Unauthenticated", "NotCommitted"],
    [402, "FailedPrecondition", "Unknown"],
    [403, "PermissionDenied", "NotCommitted"],
    [404, "NotFound", "NotCommitted"],
    [405, "FailedPrecondition", "Unknown"],
    [408, "FailedPrecondition", "Unknown"],
    [409, "AlreadyExists", "Unknown"],
    [422, "InvalidArgument", "NotCommitted"],
    [429, "RateLimited", "Unknown"],
    [500, "Unavailable", "Unknown"],
    [502, "Unavailable", "Unknown"],
    [599, "Unavailable", "Unknown"],
  ])("%i is %s, and a call that changes something is %s", (status, code, outcome) => {
    const failure = answered(status, "");
    expect(failure).toMatchObject({ code, status, operation: "issueKey", sent: true });
    expect(commitOutcome(failure)).toBe(outcome);
  });
});

describe("a failure without an answer", () => {
  test.each<[HttpFailure, string, boolean]>([
    ["refused", "Unavailable", false],
    ["forbidden", "Unavailable", false],
    ["network", "Unavailable", true],
    ["aborted", "Unavailable", true],
    ["timeout", "Timeout", true],
    ["tooLarge", "MalformedResponse", true],
  ])("%s is %s", (failure, code, sent) => {
    const error = transportFailure("issueKey", new HttpError(failure, "why"));
    expect(error).toMatchObject({
      code,
      sent,
      message:
        failure === "tooLarge"
          ? "issueKey was answered, but cannot be read: why"
          : failure === "forbidden"
            ? "issueKey was not sent: why"
            : "issueKey got no answer from the console: why",
    });
  });

  test("anything else is not quoted", () => {
    const error = transportFailure("issueKey", new Error("hunter2"));
    expect(error).toMatchObject({ code: "Unavailable", sent: true });
    expect(error.cause).toBeUndefined();
    expect(error.message).not.toContain("hunter2");
  });
});

test("a message has the attempted call, the answer, and the request ID", () => {
  const failure = answered(403, '{"message":"Policy\\n denied","requestId":"req-7"}');
  expect(failure.message).toBe(
    "issueKey was answered with status 403: Policy denied (request req-7)",
  );
  expect(failure.requestId).toBe("req-7");
  expect(answered(502, "<html>", { "x-request-id": "edge-1" }).message).toBe(
    "issueKey was answered with status 502 (request edge-1)",
  );
});

describe("quoting", () => {
  test.each([
    ["raw", "hunter2-and-more", "it was <redacted>!"],
    ["base64", Buffer.from("hunter2-and-more").toString("base64"), "it was <redacted>!"],
    ["hex", Buffer.from("hunter2-and-more").toString("hex"), "it was <redacted>!"],
  ])("a secret of the request that comes back %s is covered", (_name, echo, expected) => {
    expect(answered(422, JSON.stringify({ message: `it was ${echo}!` })).message).toContain(
      expected,
    );
  });

  test("a secret that only the answer contains is hidden if a field names it", () => {
    const body = { message: "lost: fresh-secret", record: { apiSecret: "fresh-secret" } };
    expect(answered(500, JSON.stringify(body)).message).toContain("lost: <redacted>");
  });

  test("a secret in the request id is covered", () => {
    expect(answered(500, "", { "x-request-id": "hunter2-and-more" }).requestId).toBe("<redacted>");
  });

  test("text is one bounded line", () => {
    expect(quoteServerText(` a\r\n\tb\u0007c `)).toBe("a b c");
    expect(quoteServerText("x".repeat(1_000))).toBe(`${"x".repeat(255)}…`);
    const half = quoteServerText("\u{10000}", [new Redacted("\ud800")]);
    expect(half.isWellFormed()).toBe(true);
    expect(quoteServerText(`${"x".repeat(254)}😀y`).isWellFormed()).toBe(true);
  });

  test("secrets with breaks, and secrets inside secrets, are covered", () => {
    const secrets = [new Redacted("ab"), new Redacted("ab-cd"), new Redacted("x  y\nz")];
    expect(quoteServerText("1 ab-cd 2 x  y\nz 3 ab", secrets)).toBe(
      "1 <redacted> 2 <redacted> 3 <redacted>",
    );
  });
});

describe("Retry-After", () => {
  const date = "Thu, 01 Jan 2026 12:00:30 GMT";
  test.each<[string, Record<string, string>, number | undefined]>([
    ["seconds", { "retry-after": "30" }, 30_000],
    ["seconds with blanks", { "retry-after": " 7 " }, 7_000],
    ["a date", { "retry-after": date }, 30_000],
    [
      "a date of a skewed clock",
      { "retry-after": date, date: "Thu, 01 Jan 2026 11:59:30 GMT" },
      60_000,
    ],
    ["a date of RFC 850", { "retry-after": "Thursday, 01-Jan-26 12:00:30 GMT" }, 30_000],
    ["a date of RFC 850 long ago", { "retry-after": "Friday, 01-Jan-99 12:00:30 GMT" }, undefined],
    ["a date of asctime", { "retry-after": "Thu Jan  1 12:00:30 2026" }, 30_000],
    [
      "a date of asctime with two digits",
      { "retry-after": "Sat Jan 10 12:00:30 2026" },
      5 * MINUTE,
    ],
    ["a leap second", { "retry-after": "Thu, 01 Jan 2026 12:00:60 GMT" }, 59_000],
    [
      "a date and a server's clock in other forms",
      { "retry-after": "Thu Jan  1 12:00:30 2026", date: "Thursday, 01-Jan-26 11:59:30 GMT" },
      60_000,
    ],
    ["tabs", { "retry-after": "\t7\t" }, 7_000],
    ["leading zeros", { "retry-after": "007" }, 7_000],
    ["a repeated number", { "retry-after": "7, 7" }, 7_000],
    ["the longest of several numbers", { "retry-after": "7,  30 ,2" }, 30_000],
    ["a number and a later date", { "retry-after": `7, ${date}` }, 30_000],
    ["a date and a larger number", { "retry-after": `${date}, 45` }, 45_000],
    [
      "several dates",
      { "retry-after": `${date}, Thursday, 01-Jan-26 12:00:50 GMT, Thu Jan  1 12:00:40 2026` },
      50_000,
    ],
    ["one member that can be read", { "retry-after": "soon, 7, , -3" }, 7_000],
    ["a month that does not exist", { "retry-after": "Thu, 01 Foo 2026 12:00:30 GMT" }, undefined],
    ["more than five minutes", { "retry-after": "86400" }, 5 * MINUTE],
    ["more than a number holds", { "retry-after": "9".repeat(400) }, 5 * MINUTE],
    ["nothing", {}, undefined],
    ["zero", { "retry-after": "0" }, undefined],
    ["a negative number", { "retry-after": "-3" }, undefined],
    ["a fraction", { "retry-after": "1.5" }, undefined],
    ["a date gone by", { "retry-after": "Thu, 01 Jan 2026 11:00:00 GMT" }, undefined],
    ["no date", { "retry-after": "soon" }, undefined],
    ["a year alone", { "retry-after": "Jan 2027" }, undefined],
  ])("%s", (_name, headers, waitMs) => {
    const retryAt = parseRetryAfter(headers, NOW);
    expect(retryAt === undefined ? undefined : retryAt - NOW).toBe(waitMs);
    expect(answered(503, "", headers).retryAt).toBe(retryAt);
  });
});

test("a secret is hidden in every spelling that a peer can use", () => {
  const secret = new Redacted('pa/ss "é" \\ wörd+1=');
  const raw = secret.reveal();
  const bytes = Buffer.from(raw);
  const echoes = [
    raw,
    JSON.stringify(raw),
    '"pa\\/ss \\"é\\" \\\\ wörd+1="',
    '"pa/ss \\"\\u00e9\\" \\\\ w\\u00f6rd+1="',
    `p=${encodeURIComponent(raw)}`,
    String(new URLSearchParams({ p: raw })),
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.toString("hex"),
  ];
  for (const echo of echoes) {
    expect(quoteServerText(`<${echo}>`, spellings(secret))).toMatch(/^<.{0,2}<redacted>"?>$/);
  }
});
