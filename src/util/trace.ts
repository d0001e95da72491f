/** Plain values about a span. Never bodies, URLs with a query, secrets. */
export type SpanFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** One timed piece of work as it runs. */
export interface Span {
  /** Whether anybody will see it: what costs something to find out is only worth it then. */
  readonly isRecording: boolean;
  set(fields: SpanFields): void;
  /** Marks the work as failed, also where it does not throw; `type` is a code. */
  fail(type: string): void;
}

/** Follows work through the program: spans that begin while another one's work runs are its children. */
export interface Tracer {
  /** Runs `work` as a span, whose end is that of the work; what it throws marks the span as failed. */
  span<T>(name: string, fields: SpanFields, work: (span: Span) => Promise<T>): Promise<T>;
  /** The same, but only as a part of another span: otherwise the work runs without one. */
  childSpan: Tracer["span"];
}

/** What kind of failure it was: a code where there is one. A message may quote anything and is not told. */
export function errorType(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "unknown";
}

const nobody: Span = { isRecording: false, set: () => undefined, fail: () => undefined };

/** Only runs the work. */
export const noTracer: Tracer = {
  span: (_name, _fields, work) => work(nobody),
  childSpan: (_name, _fields, work) => work(nobody),
};
