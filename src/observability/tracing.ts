/** OpenTelemetry as an implementation of the program's `Tracer`. Loaded on demand; see `process.ts`. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  type Tracer as OpenTelemetryTracer,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { assertNever } from "../util/assert-never.ts";
import type { Log } from "../util/log.ts";
import { errorType, noTracer, type Span, type SpanFields, type Tracer } from "../util/trace.ts";

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends buffered spans within a bounded time. */
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly version: string;
  /** `service.instance.id` */
  readonly instance: string;
  /** Which traces are recorded, with OpenTelemetry's names. */
  readonly sampler: {
    readonly name: "always_on" | "always_off" | "traceidratio";
    readonly ratio: number;
  };
  readonly log: Log;
  /** Replaces OTLP over HTTP, which reads OTEL_EXPORTER_OTLP_* itself. */
  readonly exporter?: SpanExporter;
}

const EXPORT_TIMEOUT_MS = 5_000;

/** Sends spans in batches. Drops spans that cannot be sent; no work ever waits for an export. */
export function startTracing(options: TracingOptions): Tracing {
  const { version, instance, sampler, log, exporter = new OTLPTraceExporter() } = options;
  const resource = resourceFromAttributes({
    "service.name": "iam-operator",
    "service.version": version,
    "service.instance.id": instance,
  }).merge(detectResources({ detectors: [envDetector] }));
  const provider = new TracerProvider({
    resource,
    sampler: samplerOf(sampler),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: withFailureLog(exporter, log),
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  return {
    tracer: createTracer(provider.getTracer("iam-operator", version)),
    // The log already reported spans that could not be sent.
    close: () => provider.shutdown().catch(() => undefined),
  };
}

function samplerOf({ name, ratio }: TracingOptions["sampler"]): Sampler {
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
    default:
      return assertNever(name);
  }
}

/** Logs once when exports start to fail, and once when they succeed again. */
function withFailureLog(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error !== undefined && !isFailing) log.warn({ err: error }, "traces are not taken");
        if (error === undefined && isFailing) log.info({}, "traces are taken again");
        isFailing = error !== undefined;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** An error in tracing must not fail the traced work. */
function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // The span is lost.
  }
}

/** The span of the current work. */
interface Running {
  readonly context: Context;
  /** Work that continues after the end of its span does not belong to the span. */
  hasEnded: boolean;
}

function createTracer(openTelemetry: OpenTelemetryTracer): Tracer {
  const running = new AsyncLocalStorage<Running>();
  const parent = (): Running | undefined => {
    const around = running.getStore();
    return around?.hasEnded === false ? around : undefined;
  };
  const span: Tracer["span"] = async (name, fields, work) => {
    const context = parent()?.context ?? ROOT_CONTEXT;
    const kind = context === ROOT_CONTEXT ? SpanKind.INTERNAL : SpanKind.CLIENT;
    const started = openTelemetry.startSpan(name, { kind, attributes: defined(fields) }, context);
    const own: Running = { context: trace.setSpan(context, started), hasEnded: false };
    const handle: Span = {
      isRecording: started.isRecording(),
      set: (more) => {
        started.setAttributes(defined(more));
      },
      fail: (type) => {
        started.setAttribute("error.type", type).setStatus({ code: SpanStatusCode.ERROR });
      },
    };
    try {
      return await running.run(own, () => work(handle));
    } catch (error) {
      handle.fail(errorType(error));
      throw error;
    } finally {
      own.hasEnded = true;
      quietly(() => started.end());
    }
  };
  return {
    span,
    childSpan: (name, fields, work) =>
      (parent() === undefined ? noTracer.childSpan : span)(name, fields, work),
  };
}

function defined(fields: SpanFields): Attributes {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
