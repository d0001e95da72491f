import { expect } from "vitest";
import type { Kind } from "../../../src/api/kind.ts";
import { parseSpec } from "../../../src/api/parse-spec.ts";

/** The API server has stored what was written, with every default of the parse that the kind does not leave out. */
export function expectStored(kind: Kind, written: unknown, stored: unknown): void {
  const parsed = parseSpec(kind, { spec: written });
  if (!parsed.ok) throw new Error(parsed.message);
  const left = Object.fromEntries(
    (kind.unstoredDefaults ?? []).map((field) => [
      field,
      (written as Readonly<Record<string, unknown>>)[field],
    ]),
  );
  expect(stored).toEqual({ ...(parsed.spec as object), ...left });
  expect(parseSpec(kind, { spec: stored })).toEqual(parsed);
}
