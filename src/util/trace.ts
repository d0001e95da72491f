/** Plain values about a span. Never bodies, URLs with a query, or secrets. */
export type SpanFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A timed piece of work in progress. */
export interface Span {
  /** Whether the span is recorded. If not, do not compute expensive fields. */
  readonly isRecording: boolean;
  set(fields: SpanFields): void;
  /** Marks the work as failed, even if it does not throw; `type` is a code. */
  fail(type: string): void;
}

/** Traces work through the program: a span that begins during another span's work is its child. */
export interface Tracer {
  /** Runs `work` as a span that ends with the work; an error of the work marks the span as failed. */
  span<T>(name: string, fields: SpanFields, work: (span: Span) => Promise<T>): Promise<T>;
  /** Like `span`, but only within another span; otherwise the work runs without a span. */
  childSpan: Tracer["span"];
}

/** The type of a failure: its code if it has one. Never the message, which can quote anything. */
export function errorType(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "unknown";
}

const noopSpan: Span = { isRecording: false, set: () => undefined, fail: () => undefined };

/** Runs the work without a span. */
export const noTracer: Tracer = {
  span: (_name, _fields, work) => work(noopSpan),
  childSpan: (_name, _fields, work) => work(noopSpan),
};
