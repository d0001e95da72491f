import { describe, expect, test } from "vitest";
import { KubeError } from "../../../src/kube/errors.ts";
import { createLogger, type LogFormat, type LogLevel } from "../../../src/observability/logger.ts";
import { SpecError } from "../../../src/reconciler/errors.ts";
import type { LogFields } from "../../../src/util/log.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

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
    log.warn({ err }, "reconcile failed");
    expect(last().err).toEqual({
      type: "KubeError",
      message: "apply apikeys ns/ci: changed",
      code: "Conflict",
      reason: "Conflict",
      status: 409,
      cause: { type: "TypeError", message: "fetch failed" },
    });
    expect(JSON.stringify(last())).not.toContain("canary");
  });

  test.each<[string, Error, boolean]>([
    ["an error of the language", new TypeError("x is undefined"), true],
    ["a plain error", new Error("impossible"), true],
    ["a wrong call", Object.assign(new TypeError("x"), { code: "ERR_INVALID_ARG_TYPE" }), true],
    ["an error with a code", new KubeError("Timeout", "no answer"), false],
    ["a refused connection", Object.assign(new Error("x"), { code: "ECONNREFUSED" }), false],
    ["an error with a class of its own", new SpecError("InvalidSpec", "name"), false],
  ])("shows where it happened for what nobody has foreseen: %s", (_, err, hasStack) => {
    const { log, last } = setUp();
    log.error({ err }, "failed");
    const { stack } = last().err as { stack?: string };
    expect(stack).toEqual(hasStack ? expect.stringMatching(/^at .*logger\.test\.ts/) : undefined);
  });

  test("shows where a bug happened that another error reports", () => {
    const { log, last } = setUp();
    const bug = new TypeError("x is undefined");
    log.error(
      { err: Object.assign(new SpecError("InvalidSpec", "about"), { cause: bug }) },
      "failed",
    );
    expect(last().err).toEqual({
      type: "SpecError",
      message: "about",
      reason: "InvalidSpec",
      cause: { type: "TypeError", message: "x is undefined", stack: expect.any(String) },
    });
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
  log.warn({ name: "ci", reason: "two words", ids: ["a"], err }, "reconcile failed");
  log.info({}, "idle");
  const text = lines.join("").replace(/\n {4}at .*/g, "");
  expect(text).toBe(`00:00:00.000 WARN  reconcile failed  name=ci reason="two words" ids=["a"]
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
