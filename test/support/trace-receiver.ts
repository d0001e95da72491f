/** A receiver of OpenTelemetry's traces over HTTP, as a collector is one. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";

/** A span as it came over the wire, with its fields as plain values. */
interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface TraceReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Everything that was sent: paths, headers and bodies. */
  text(): string;
  close(): Promise<void>;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpSpan extends Omit<ReceivedSpan, "fields"> {
  readonly attributes: readonly OtlpAttribute[];
}

interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

export async function startTraceReceiver(host = "127.0.0.1"): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = [];
  const texts: string[] = [];
  const receive = async (request: IncomingMessage): Promise<number> => {
    const body = await textOf(request);
    texts.push(`${request.method} ${request.url}\n${request.rawHeaders.join("\n")}\n${body}`);
    if (request.url !== "/v1/traces") return 404;
    spans.push(...spansOf(JSON.parse(body)));
    return 200;
  };
  const server = createServer((request, response) => {
    receive(request).then(
      (status) => response.writeHead(status).end("{}"),
      () => response.writeHead(400).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => texts.join("\n"),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function spansOf({ resourceSpans }: OtlpTraces): readonly ReceivedSpan[] {
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map(({ attributes, ...span }) => ({
      ...span,
      fields: Object.fromEntries(
        attributes.map(({ key, value }) => [key, Object.values(value)[0]] as const),
      ),
    }));
}
