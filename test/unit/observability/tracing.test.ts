import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import { startTracing, type TracingOptions } from "../../../src/observability/tracing.ts";
import type { Log } from "../../../src/util/log.ts";
import { silentLog } from "../../../src/util/log.ts";
import { collectSpans, type SeenSpan } from "../../support/spans.ts";

function setUp(options: Partial<TracingOptions> = {}) {
  const spans: SeenSpan[] = [];
  const { tracer, close } = startTracing({
    version: "1.2.3",
    instance: "pod-1",
    sampler: { name: "always_on", ratio: 1 },
    log: silentLog,
    exporter: collectSpans(spans),
    ...options,
  });
  const named = (name: string) => spans.find((span) => span.name === name);
  return { tracer, close, spans, named };
}

const nothing = async () => undefined;
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("spans within a span's work are its children, however much runs at once", async () => {
  const { tracer, close, spans, named } = setUp();
  const pass = (name: string) =>
    tracer.span(name, { name }, async () => {
      await turn();
      await tracer.span(`call of ${name}`, {}, () => tracer.childSpan(`wire of ${name}`, {}, turn));
    });
  await Promise.all([pass("a"), pass("b")]);
  await close();
  for (const name of ["a", "b"]) {
    expect(named(name)).toMatchObject({ parentId: undefined, fields: { name } });
    expect(named(`call of ${name}`)?.parentId).toBe(named(name)?.spanId);
    expect(named(`wire of ${name}`)?.parentId).toBe(named(`call of ${name}`)?.spanId);
  }
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
});

test("work that throws marks its span by its code, and goes on to throw", async () => {
  const { tracer, close, named } = setUp();
  const failure = Object.assign(new Error("canary"), { code: "Timeout" });
  await expect(
    tracer.span("failing", {}, async () => {
      throw failure;
    }),
  ).rejects.toBe(failure);
  await close();
  expect(named("failing")).toMatchObject({ failed: true, fields: { "error.type": "Timeout" } });
  expect(JSON.stringify(named("failing"))).not.toContain("canary");
});

test("a part of no span is no span", async () => {
  const { tracer, close, spans } = setUp();
  expect(await tracer.childSpan("alone", {}, async (span) => span.isRecording)).toBe(false);
  await close();
  expect(spans).toEqual([]);
});

test("what a pass has set in motion and comes after its end is no part of it", async () => {
  const { tracer, close, named, spans } = setUp();
  const later = Promise.withResolvers<void>();
  let after: Promise<unknown> = Promise.resolve();
  await tracer.span("pass", {}, async () => {
    after = later.promise.then(async () => {
      await tracer.childSpan("write", {}, nothing);
      await tracer.span("login", {}, nothing);
    });
  });
  later.resolve();
  await after;
  await close();
  expect(spans.map(({ name }) => name)).toEqual(["pass", "login"]);
  expect(named("login")?.traceId).not.toBe(named("pass")?.traceId);
});

test("fields without a value are left out, and those that come later are added", async () => {
  const { tracer, close, named } = setUp();
  await tracer.span("pass", { uid: undefined, generation: 2 }, async (span) => {
    span.set({ requestId: "r-1", status: undefined });
  });
  await close();
  expect(named("pass")?.fields).toEqual({ generation: 2, requestId: "r-1" });
});

test("the resource is this program, unless OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say more", async () => {
  process.env.OTEL_RESOURCE_ATTRIBUTES = "deployment.environment.name=test";
  process.env.OTEL_SERVICE_NAME = "iam-operator-blue";
  try {
    const { tracer, close, named } = setUp();
    await tracer.span("pass", {}, nothing);
    await close();
    expect(named("pass")?.resource).toEqual({
      "service.name": "iam-operator-blue",
      "service.version": "1.2.3",
      "service.instance.id": "pod-1",
      "deployment.environment.name": "test",
    });
  } finally {
    delete process.env.OTEL_RESOURCE_ATTRIBUTES;
    delete process.env.OTEL_SERVICE_NAME;
  }
});

test.each([
  ["always_on", 0, 20],
  ["always_off", 1, 0],
  ["traceidratio", 0, 0],
  ["traceidratio", 1, 20],
] as const)("of 20 traces, %s %d tells %d", async (name, ratio, told) => {
  const { tracer, close, spans } = setUp({ sampler: { name, ratio } });
  for (let pass = 0; pass < 20; pass += 1)
    await tracer.span("pass", {}, () => tracer.span("call", {}, nothing));
  await close();
  expect(spans).toHaveLength(2 * told);
});

test("a receiver that takes nothing is told about once, and nobody waits for it", async () => {
  const lines: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: ({ err }, message) => lines.push(`${message}: ${(err as Error).message}`),
    info: (_, message) => lines.push(message),
  };
  let broken = true;
  const exporter: SpanExporter = {
    export: (_, done) => done(broken ? { code: 1, error: new Error("ECONNREFUSED") } : { code: 0 }),
    shutdown: nothing,
  };
  const { tracer } = setUp({ exporter, log });
  /** A full batch is sent at once. */
  const batch = async () => {
    for (let pass = 0; pass < 512; pass += 1) await tracer.span("pass", {}, nothing);
    await turn();
  };
  await batch();
  await batch();
  broken = false;
  await batch();
  expect(lines).toEqual(["traces are not taken: ECONNREFUSED", "traces are taken again"]);
});
