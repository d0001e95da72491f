import { expect, test } from "vitest";
import * as z from "zod";
import { timestamp } from "../../../src/api/fields.ts";
import { createStatusCodec } from "../../../src/api/status-codec.ts";

const schema = z.object({
  startTime: timestamp.optional(),
  count: z.int().optional(),
  names: z.array(z.string()).optional(),
  known: z.array(z.string()).optional(),
  current: z
    .object({ id: z.string(), issueTime: timestamp, endTime: timestamp.optional() })
    .optional(),
  past: z.array(z.object({ issueTime: timestamp })).optional(),
});
const codec = createStatusCodec(schema, { names: [], past: [] });
const stored = {
  startTime: "2026-01-01T00:00:00Z",
  current: { id: "a", issueTime: "2026-01-02T00:00:00Z" },
  past: [{ issueTime: "2026-01-03T00:00:00Z" }],
};

test("times are decoded wherever they are, and absent fields have their default", () => {
  const decoded = codec.decode(stored);
  expect(decoded).toEqual({
    startTime: Date.UTC(2026, 0, 1),
    names: [],
    current: { id: "a", issueTime: Date.UTC(2026, 0, 2) },
    past: [{ issueTime: Date.UTC(2026, 0, 3) }],
  });
  expect(codec.encode(decoded)).toStrictEqual(stored);
  expect(codec.decode(undefined)).toEqual({ names: [], past: [] });
});

test("only fields that are as their default are left out", () => {
  const decoded = { ...codec.decode(stored), names: ["x"], known: [], count: 0, past: [] };
  const { past: _, ...rest } = stored;
  expect(codec.encode(decoded)).toStrictEqual({ ...rest, names: ["x"], known: [], count: 0 });
});

test("fields that an earlier schema stored are still read", () => {
  const old = {
    startTime: "soon",
    unknown: 1,
    current: { id: "a", issueTime: "never", endTime: null, more: 2 },
    past: [{}],
    names: null,
  };
  expect(codec.decode(old)).toEqual({
    names: [],
    current: { id: "a", issueTime: 0 },
    past: [{ issueTime: 0 }],
  });
});
