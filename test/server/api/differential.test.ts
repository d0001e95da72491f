/** Random changes to the fixtures, judged by the operator's own parse and by a real API server. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseSpec } from "../../../src/api/parse-spec.ts";
import { good, manifest, stalled } from "../../unit/api/fixtures.ts";
import { type DryRun, startDryRun } from "./dry-run.ts";
import { expectStored } from "./stored.ts";

let server: DryRun;

beforeAll(async () => {
  server = await startDryRun();
}, 120_000);
afterAll(() => server?.close());

type Path = readonly (string | number)[];

/** Where something could be put in place of what is there. */
function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([key, child]) =>
      pathsOf(child, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as never;
  copy[key as never] = replaced(copy[key as never], rest, by) as never;
  return copy;
}

const odd = fc.oneof(
  fc.constantFrom<unknown[]>(0, 1, -1, 1.5, 3_650, 3_651, 1e12, true, false, [], {}, ["a", "a"]),
  fc.constantFrom("", " ", "A", "a b", "é", "*", "..", "a..b", "-a", "a-", "a\n", "\u2028", "\0"),
  fc.constantFrom("1h", "30d", "0s", "99999h59999m99999s", "https://h", "https://h/?", "http://h"),
  fc.constantFrom("${secret}", "$${secret}", "$$${secret}", "${x}", "$", "/a/{keyId}", "/", "UTC"),
  fc.integer({ min: 60, max: 260 }).map((length) => "x".repeat(length)),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);

/** Fixtures with all their defaults, so that there is something to change everywhere. */
const changed = fc
  .constantFrom(...good)
  .chain(({ kind, spec }) => {
    const parsed = parseSpec(kind, { spec });
    if (!parsed.ok) throw new Error(parsed.message);
    return fc.tuple(
      fc.constant(kind),
      fc.constant(parsed.spec),
      fc.constantFrom(...pathsOf(parsed.spec)),
      odd,
    );
  })
  .map(([kind, spec, path, by]) => ({ title: "changed", kind, spec: replaced(spec, path, by) }));

const onlyParsed = stalled.map(({ says }) => says[1] ?? "");

test("what the API server caches, the operator understands in the same way", async () => {
  await fc.assert(
    fc.asyncProperty(changed, async (fixture) => {
      const object = manifest(fixture, "default");
      const { status, body } = await server.create(fixture.kind, object);
      const parsed = parseSpec(fixture.kind, object);
      if (!parsed.ok && onlyParsed.some((text) => parsed.message.includes(text))) return;
      if (status === 201) expectStored(fixture.kind, object.spec, body.spec);
      else expect({ ...parsed, server: body.message }).toMatchObject({ ok: false });
    }),
    { numRuns: 1_500 },
  );
}, 120_000);
