import fc from "fast-check";
import { expect, test } from "vitest";
import { LineTooLong, LineTruncated, splitLines } from "../../../src/kube/watch/lines.ts";

async function* cut(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  let at = 0;
  for (let i = 0; at < bytes.length; i += 1) {
    const size = sizes[i % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function linesOf(chunks: AsyncIterable<Uint8Array>, maxBytes = 1000): Promise<string[]> {
  const lines = [];
  for await (const line of splitLines(chunks, maxBytes)) lines.push(line);
  return lines;
}

test("lines are the same however the stream is cut", async () => {
  const line = fc.string({ unit: "grapheme" }).map((text) => `x${text.replaceAll(/\s/gu, "")}x`);
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(line), sizes, async (lines, cuts) => {
      const text = lines.map((one) => `${one}\n`).join("");
      expect(await linesOf(cut(text, cuts), 10_000)).toEqual(lines);
    }),
  );
});

test("blank lines are left out", async () => {
  expect(await linesOf(cut("\n{}\r\n\n", [2]))).toEqual(["{}"]);
});

test("a line may be as long as the bound and no longer", async () => {
  expect(await linesOf(cut("12345678\n", [3]), 8)).toEqual(["12345678"]);
  await expect(linesOf(cut("123456789\n", [3]), 8)).rejects.toThrow(LineTooLong);
});

test("a stream without newlines is not buffered beyond the bound", async () => {
  let given = 0;
  async function* endless() {
    for (;;) {
      given += 100;
      yield Buffer.alloc(100, "x");
    }
  }
  await expect(linesOf(endless(), 1000)).rejects.toThrow(LineTooLong);
  expect(given).toBe(1100);
});

test("a cut line is reported after the whole ones", async () => {
  const lines: string[] = [];
  const read = async () => {
    for await (const line of splitLines(cut("{}\n{", [5]), 10)) lines.push(line);
  };
  await expect(read()).rejects.toThrow(LineTruncated);
  expect(lines).toEqual(["{}"]);
});

// Copied anew for every chunk it would take minutes.
test("a long line in a quarter of a million chunks is read", async () => {
  const text = "x".repeat(4_000_000);
  expect((await linesOf(cut(`${text}\n`, [16]), 2 * text.length)).join()).toBe(text);
});
