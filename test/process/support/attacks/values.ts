/** Values of a schema, from the largest and most awkward to harmless ones. */
import { sample, stringMatching } from "fast-check";

/** The part of a CRD's schema that values are made from. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string }[];
}

/** Of one object: etcd's limit is 1.5 MiB, and the operator adds to it. */
export const MOST_BYTES = 1_300_000;

/** In every text and key that has room for it. Another text of the same length in its place makes another value. */
export const SEED = "q00000";

interface Measure {
  /** Of the most items and entries. */
  readonly share: number;
  /** Which of the texts that fit. */
  readonly taste: number;
  /** Whether optional fields of items are set. */
  readonly isWhole: boolean;
}

const TASTES = 14;
const HARMLESS: Measure = { share: 0, taste: TASTES, isWhole: false };
const SHARES = [1, 1 / 8, 1 / 64, 0];
/** Without a bound, a text or a list is as large as a request. */
const UNBOUNDED = { text: 300_000, count: 5_000 };
/** Texts that rules ask for in words that are not patterns. */
const KNOWN = [
  "${secret}",
  "-----BEGIN CERTIFICATE-----",
  "http://127.0.0.1:1/",
  "/{saId}/{keyId}/",
  "/{saId}/",
  "1h",
  "30s",
];

/** All different, the largest first. `share` bounds every list and map. */
export function* valuesOf(schema: Schema, share: number): Generator<unknown> {
  const seen = new Set<string>();
  for (const measure of measuresOf(schema, share)) {
    const value = makeValue(schema, measure, SEED);
    const text = JSON.stringify(value);
    if (seen.has(text)) continue;
    seen.add(text);
    yield value;
  }
}

function measuresOf({ items }: Schema, most: number): readonly Measure[] {
  const wholes = items?.type === "object" ? [true, false] : [true];
  return SHARES.flatMap((share) =>
    wholes.flatMap((isWhole) =>
      Array.from({ length: TASTES }, (_, taste) => ({ share: share * most, taste, isWhole })),
    ),
  );
}

function makeValue(schema: Schema, measure: Measure, seed: string): unknown {
  const { type, items = {}, additionalProperties } = schema;
  const { share, taste } = measure;
  if (schema.enum !== undefined) return schema.enum[taste % schema.enum.length];
  if (schema.format === "date-time") return "2026-01-01T00:00:00Z";
  if (type === "string") return textOf(schema, seed, taste);
  if (type === "boolean") return false;
  if (type === "array")
    return severalOf(schema.maxItems, share, seed, (each) => makeValue(items, measure, each));
  if (additionalProperties !== undefined)
    return Object.fromEntries(
      severalOf(schema.maxProperties, share, seed, (each) => [
        keyOf(schema, taste, each),
        makeValue(additionalProperties, measure, each),
      ]),
    );
  return type === "object" ? objectOf(schema, measure, seed) : numberOf(schema, taste);
}

function numberOf({ minimum, maximum }: Schema, taste: number): number {
  return (taste % 2 === 0 ? maximum : minimum) ?? Number.MAX_SAFE_INTEGER;
}

function objectOf({ properties = {}, required = [] }: Schema, measure: Measure, seed: string) {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => measure.isWhole || required.includes(name))
      .map(([name, child]) => [name, makeValue(child, measure, seed)]),
  );
}

/** As many as that share of the most, and as an object has room for; at least one. */
function severalOf<T>(
  most = UNBOUNDED.count,
  share: number,
  seed: string,
  make: (seed: string) => T,
): readonly T[] {
  const first = make(`${seed}i0`);
  const room = MOST_BYTES / Buffer.byteLength(JSON.stringify(first));
  const count = Math.floor(Math.min(most * share, room));
  return [
    first,
    ...Array.from({ length: Math.max(0, count - 1) }, (_, n) => make(`${seed}i${n + 1}`)),
  ];
}

/** With astral characters, as a qualified name, or short. */
function keyOf(schema: Schema, taste: number, seed: string): string {
  const [, bound] = /size\(key\) <= (\d+)/.exec(rulesOf(schema)) ?? [];
  const most = bound === undefined ? UNBOUNDED.text : Number(bound);
  const qualified = `${padded(seed, 253, "k")}/${"n".repeat(63)}`.slice(0, most);
  return [padded(seed, most, "𝒳"), qualified][taste] ?? padded(seed, 63, "k");
}

/** The text of that rank among those that fit the rules that are patterns; the last one if there are fewer. */
function textOf(schema: Schema, seed: string, taste: number): string {
  const { maxLength: most = UNBOUNDED.text } = schema;
  const rules = patternsOf(schema);
  let last = padded(seed, most, "x");
  let left = taste;
  for (const make of makersOf(rules, most, seed)) {
    const text = make();
    if ([...text].length > most || !matchesAll(rules, text)) continue;
    last = text;
    if (left === 0) break;
    left -= 1;
  }
  return last;
}

/** From the longest in bytes to texts that rules ask for. */
function makersOf(
  rules: readonly Pattern[],
  most: number,
  seed: string,
): readonly (() => string)[] {
  return [
    () => padded(seed, most, "𝒳"),
    () => padded(`\${secret}${seed}`, most, "𝒳"),
    () => padded(seed, most, "x"),
    () => stretched(rules, most, seed),
    ...KNOWN.flatMap((known) => [() => padded(known + seed, most, "x"), () => known]),
  ];
}

interface Pattern {
  readonly source: string;
  readonly isMatch: boolean;
}

function patternsOf(schema: Schema): readonly Pattern[] {
  return [...rulesOf(schema).matchAll(/(!?)self\.matches\(r'(.*?)'\)/g)].map(
    ([, not, source = ""]) => ({ source, isMatch: not === "" }),
  );
}

function matchesAll(patterns: readonly Pattern[], text: string): boolean {
  return patterns.every(({ source, isMatch }) => new RegExp(source).test(text) === isMatch);
}

interface Stretch {
  readonly before: string;
  readonly room: number;
  readonly after: string;
}

const stretches = new Map<string, Stretch>();

/** A text that fits the patterns, made as long as possible at one place. */
function stretched(patterns: readonly Pattern[], most: number, seed: string): string {
  const id = JSON.stringify([patterns, most]);
  const { before, room, after } = stretches.get(id) ?? stretchOf(patterns, most);
  stretches.set(id, { before, room, after });
  return before + padded(seed, room, "a") + after;
}

function stretchOf(patterns: readonly Pattern[], most: number): Stretch {
  const [{ source } = { source: "a" }] = patterns.filter(({ isMatch }) => isMatch);
  const texts = sample(stringMatching(new RegExp(source)), { numRuns: 30, seed: 7 });
  const short = texts.filter(({ length }) => length < most).toSorted((a, b) => a.length - b.length);
  const places = short.flatMap((text) =>
    Array.from({ length: text.length + 1 }, (_, n) => [text.slice(0, n), text.slice(n)] as const),
  );
  const stretch = [most, 240, 60, 16, 0]
    .flatMap((size) =>
      places.map(([before, after]) => ({
        before,
        after,
        room: Math.max(0, Math.min(size, most - before.length - after.length)),
      })),
    )
    .find(({ before, room, after }) =>
      matchesAll(patterns, before + padded(SEED, room, "a") + after),
    );
  return stretch ?? { before: "", room: most, after: "" };
}

/** As long as that in code points, which is what a schema counts. */
function padded(seed: string, length: number, filling: string): string {
  return seed.slice(0, length) + filling.repeat(Math.max(0, length - seed.length));
}

function rulesOf(schema: Schema): string {
  return (schema["x-kubernetes-validations"] ?? []).map(({ rule }) => rule).join("\n");
}

/** A field that can be large or awkward, by its path. */
export interface Field {
  readonly path: string;
  readonly schema: Schema;
}

/** Every text, number, list and map that is not within a list or a map itself. */
export function fieldsOf(schema: Schema, path: string): readonly Field[] {
  const { type = "", properties, additionalProperties } = schema;
  if (type === "object" && additionalProperties === undefined)
    return Object.entries(properties ?? {}).flatMap(([name, child]) =>
      fieldsOf(child, `${path}.${name}`),
    );
  const isOpen = type !== "boolean" && schema.enum === undefined && schema.format !== "date-time";
  return isOpen ? [{ path, schema }] : [];
}

/** A copy of the object with a value at a path, and with everything that the schema then requires. */
export function withValue(object: object, path: string, value: unknown, schema: Schema): object {
  const [name = "", ...rest] = path.split(".");
  const fields = object as Readonly<Record<string, object | undefined>>;
  const { properties = {}, required = [] } = schema;
  const missing = required
    .filter((field) => field !== name && fields[field] === undefined)
    .map((field) => [field, makeValue(properties[field] ?? {}, HARMLESS, SEED)]);
  const below =
    rest.length === 0
      ? value
      : withValue(fields[name] ?? {}, rest.join("."), value, properties[name] ?? {});
  return { ...Object.fromEntries(missing), ...fields, [name]: below };
}
