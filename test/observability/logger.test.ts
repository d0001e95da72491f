import { describe, expect, test } from "vitest";
import { KubeError } from "../../src/kube/errors.ts";
import { createLogger, type LogFormat, type LogLevel } from "../../src/observability/logger.ts";
import type { LogFields } from "../../src/util/log.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { createFakeClock } from "../support/fake-clock.ts";

function setUp(format: LogFormat = "json", level: LogLevel = "debug") {
  const lines: string[] = [];
  let flushes = 0;
  const { log, flush } = createLogger({
    level,
    format,
    clock: createFakeClock(),
    sink: {
      write: (line) => lines.push(line),
      flushSync: () => {
        flushes += 1;
      },
    },
  });
  const last = () => JSON.parse(lines.at(-1) ?? "{}") as Record<string, unknown>;
  return { log, flush, lines, last, flushes: () => flushes };
}

const stray = (value: unknown) => value as LogFields[string];

describe("a log line", () => {
  test("holds time, level, the message and its fields, those of the parents first", () => {
    const { log, lines } = setUp();
    log.child({ controller: "ApiKey" }).child({ name: "ci" }).info({ keyId: "k1" }, "issued key");
    expect(lines).toEqual([
      '{"level":"info","time":"2026-01-01T00:00:00.000Z","controller":"ApiKey","name":"ci","keyId":"k1","msg":"issued key"}\n',
    ]);
  });

  test("is written from its level on", () => {
    const { log, lines } = setUp("json", "warn");
    log.debug({}, "debug");
    log.info({}, "info");
    log.child({ a: 1 }).warn({}, "warn");
    log.error({}, "error");
    expect(lines).toHaveLength(2);
  });

  test("shows of an error what is known to be harmless", () => {
    const { log, last } = setUp();
    const cause = Object.assign(new TypeError("fetch failed"), { body: "canary", headers: {} });
    const details = { status: 409, reason: "Conflict", cause };
    const err = Object.assign(new KubeError("Conflict", "apply apikeys ns/ci: changed", details), {
      response: { body: "canary" },
    });
    log.warn({ err }, "pass failed");
    expect(last().err).toEqual({
      type: "KubeError",
      message: "apply apikeys ns/ci: changed",
      code: "Conflict",
      reason: "Conflict",
      status: 409,
      stack: expect.stringMatching(/^at .*logger\.test\.ts/),
      cause: { type: "TypeError", message: "fetch failed", stack: expect.any(String) },
    });
    expect(JSON.stringify(last())).not.toContain("canary");
  });

  test("does not quote what could not be parsed", () => {
    const { log, lines } = setUp();
    try {
      JSON.parse('canary-secret"');
    } catch (error) {
      log.error({ err: error as Error }, "bug");
      log.error({ err: new Error("unreadable", { cause: error }) }, "bug");
    }
    expect(lines.join("")).not.toContain("canary");
  });

  test("does not print what types forbid", () => {
    const { log, lines } = setUp();
    const secret = new Redacted("canary");
    log.info({ a: stray(secret), b: stray({ data: "canary" }), c: stray([{ x: "canary" }]) }, "m");
    log.child({ password: "canary", token: "canary" }).info({ secret: "canary" }, "m");
    expect(lines.join("")).not.toContain("canary");
  });

  test.each<[string, LogFields]>([
    ["text", { reason: "x".repeat(1_000_000) }],
    ["list", { ids: Array.from({ length: 10_000 }, () => "x".repeat(100)) }],
    ["error", { err: new Error("x".repeat(1_000_000)) }],
    ["number of fields", Object.fromEntries(Array.from({ length: 9_999 }, (_, n) => [`f${n}`, n]))],
  ])("is short, however long the %s", (_, fields) => {
    const { log, lines } = setUp();
    log.info(fields, "m");
    expect(lines[0]?.length).toBeLessThan(20_000);
  });

  test("survives an error that is its own cause", () => {
    const { log, lines } = setUp();
    const err = new Error("round");
    err.cause = err;
    log.error({ err }, "m");
    expect(lines).toHaveLength(1);
  });
});

test("a line for people says the same", () => {
  const { log, lines } = setUp("pretty");
  const err = new KubeError("Conflict", "changed", { cause: new Error("inner") });
  log.warn({ name: "ci", reason: "two words", ids: ["a"], err }, "pass failed");
  log.info({}, "idle");
  const text = lines.join("").replace(/\n {4}at .*/g, "");
  expect(text).toBe(`00:00:00.000 WARN  pass failed  name=ci reason="two words" ids=["a"]
  KubeError: changed code=Conflict
  Error: inner
00:00:00.000 INFO  idle
`);
});

test("flushing flushes what lines go to", () => {
  const { flush, flushes } = setUp();
  flush();
  expect(flushes()).toBe(1);
});
