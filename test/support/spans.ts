/** Keeps spans in place of sending them. */
import type { SpanExporter } from "@opentelemetry/sdk-trace";

export interface SeenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly failed: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  /** Everything else that would be sent. */
  readonly rest: unknown;
}

export function collectSpans(into: SeenSpan[]): SpanExporter {
  return {
    export: (spans, done) => {
      for (const span of spans) {
        const { traceId, spanId } = span.spanContext();
        into.push({
          name: span.name,
          traceId,
          spanId,
          parentId: span.parentSpanContext?.spanId,
          failed: span.status.code === 2,
          fields: span.attributes,
          resource: span.resource.attributes,
          rest: [span.status, span.events, span.links],
        });
      }
      done({ code: 0 });
    },
    shutdown: async () => undefined,
  };
}
