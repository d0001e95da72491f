/** What the API server, a proxy in front of it, or nobody at all may send: refused by a typed error at worst. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseStatus, toKubeError } from "../../../src/kube/client/status.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { parseLabelSelector } from "../../../src/kube/label-selector.ts";
import { configMapType } from "../../../src/kube/resource-types.ts";
import { LineTooLong, LineTruncated, splitLines } from "../../../src/kube/watch/lines.ts";
import { restartReasonOf } from "../../../src/kube/watch/restart-reason.ts";
import { parseWatchLine, StreamError } from "../../../src/kube/watch/watch-stream.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { effort } from "../../setup/effort.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const NOW = Date.UTC(2026, 0, 1);
const CANARY = "canary-0123456789";
const api = {
  baseURL: "http://server",
  send: () => Promise.reject(new Error("no call is expected")),
  clock: createFakeClock(),
  userAgent: "test",
};

const names = fc.constantFrom(
  ...["type", "object", "metadata", "name", "namespace", "resourceVersion", "annotations", "kind"],
  ...["code", "reason", "message", "details", "causes", "field", "retryAfterSeconds", "data"],
  ...["k8s.io/initial-events-end", "__proto__", "constructor", "toString", ""],
);
const words = fc.constantFrom<unknown>(
  ...["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "Status", "Expired", "true", "7", ""],
  ...[null, true, 0, -1, 410, 429, 500, 1e308, Number.MAX_SAFE_INTEGER, CANARY, "\ud800"],
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    { weight: 3, arbitrary: words },
    { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
    {
      weight: 3,
      arbitrary: fc.dictionary(names, tie("value"), { maxKeys: 6, noNullPrototype: true }),
    },
  ),
}));
/** An event as far as its frame goes. */
const event = fc.record(
  {
    type: fc.constantFrom("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "PATCHED", 7),
    object: fc.oneof(
      value,
      fc.record({ metadata: value, data: value }),
      fc.record({ kind: fc.constant("Status"), code: value, reason: value, message: value }),
    ),
  },
  { requiredKeys: [] },
);
const lines = fc
  .oneof(value, event)
  .map((each) => JSON.stringify(each) ?? "")
  .chain((line) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constant(line) },
      { weight: 1, arbitrary: fc.nat(line.length).map((end) => line.slice(0, end)) },
      { weight: 1, arbitrary: fc.string({ unit: "binary" }).map((text) => `${line}${text}`) },
    ),
  );

test("a line of a watch is an input of the protocol, or an error that the protocol knows", () => {
  fc.assert(
    fc.property(lines, (line) => {
      try {
        const input = parseWatchLine(api, configMapType, line);
        if (input.kind === "Changed") {
          expect(typeof input.object.metadata.name).toBe("string");
          expect(input.object.kind).toBe("ConfigMap");
        }
        if (input.kind === "Changed" || input.kind === "Bookmark")
          expect(typeof input.version).toBe("string");
      } catch (error) {
        expect(error instanceof KubeError || error instanceof StreamError).toBe(true);
        expect(restartReasonOf(error)).not.toBe("Unexpected");
        const { message } = error as Error;
        expect(message.length).toBeLessThan(700);
      }
    }),
    { numRuns: 3_000 * effort },
  );
});

test.each([undefined, null, 7, {}, ["7"]])(
  "an object whose version is %j is refused",
  (version) => {
    const object = { metadata: { name: "a", resourceVersion: version } };
    const read = (type: string) => () =>
      parseWatchLine(api, configMapType, JSON.stringify({ type, object }));
    for (const type of ["ADDED", "DELETED", "BOOKMARK"]) expect(read(type)).toThrow(KubeError);
  },
);

test("what cannot be read is not quoted: it may hold a Secret", () => {
  fc.assert(
    fc.property(lines, (line) => {
      const broken = `${line.slice(0, -1)}"data":"${CANARY}"`;
      let message = "";
      try {
        parseWatchLine(api, configMapType, broken);
      } catch (error) {
        message = String(error);
      }
      fc.pre(message.includes("not JSON"));
      expect(message).not.toContain(CANARY);
    }),
    { numRuns: 300 * effort },
  );
});

test("bytes are lines within the bound, or a typed end; nothing more is kept", async () => {
  const bound = 64;
  const chunk = fc.oneof(
    fc.uint8Array({ maxLength: 90 }),
    fc.string({ maxLength: 40 }).map((text) => new Uint8Array(Buffer.from(`${text}\n`))),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 12 }), async (chunks) => {
      async function* stream() {
        yield* chunks;
      }
      try {
        for await (const line of splitLines(stream(), bound)) {
          expect(line).not.toBe("");
          expect(line).not.toContain("\n");
          // A broken byte becomes a character of three.
          expect(Buffer.from(line).length).toBeLessThanOrEqual(3 * bound);
        }
      } catch (error) {
        expect(error instanceof LineTooLong || error instanceof LineTruncated).toBe(true);
      }
    }),
    { numRuns: 500 * effort },
  );
});

test("any refusal is a KubeError of bounded length, and never asks to wait for ever", () => {
  const header = fc.oneof(
    fc.string(),
    fc.bigInt({ min: 0n }).map(String),
    fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(8.64e15) })
      .map((moment) => moment.toUTCString()),
  );
  const waits = fc.oneof(fc.double(), fc.integer(), value);
  fc.assert(
    fc.property(
      fc.integer({ min: 300, max: 599 }),
      fc.option(header, { nil: undefined }),
      fc.record({ kind: fc.constant("Status"), message: value, reason: value }),
      waits,
      (status, after, said, retryAfterSeconds) => {
        const error = toKubeError({
          attempted: "get secrets a/b",
          status,
          headers: after === undefined ? {} : { "retry-after": after },
          serverStatus: parseStatus({ ...said, details: { retryAfterSeconds, causes: [said] } }),
          now: NOW,
        });
        expect(error.message.length).toBeLessThan(700);
        if (error.retryAt === undefined) return;
        expect(error.retryAt).toBeGreaterThan(NOW);
        expect(error.retryAt).toBeLessThanOrEqual(NOW + 5 * MINUTE);
      },
    ),
    { numRuns: 2_000 * effort },
  );
});

test("a label selector is read or refused, and what is read can be asked about any labels", () => {
  const piece = fc.constantFrom(
    "a",
    "team",
    "=",
    "==",
    "!=",
    "!",
    ",",
    " ",
    "x.y/z",
    "-",
    "é",
    "in (a)",
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("")),
    fc.string({ unit: "binary" }),
  );
  const labels = fc.option(fc.dictionary(fc.constantFrom("a", "team", "__proto__"), fc.string()), {
    nil: undefined,
  });
  fc.assert(
    fc.property(text, labels, (selector, some) => {
      const matches = parseLabelSelector(selector);
      if (matches !== undefined) expect(typeof matches(some)).toBe("boolean");
    }),
    { numRuns: 1_000 * effort },
  );
});
