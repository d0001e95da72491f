/**
 * Copies of data for the process to keep. An answer or an object that was read must not stay in memory because a part of
 * it is kept: V8 keeps a whole text alive for a substring of it, and a list for an element.
 */
import { Redacted } from "./redacted.ts";

export interface Kept<T> {
  readonly value: T;
  /** About how much memory the copy takes. */
  readonly bytes: number;
}

/** V8 copies shorter substrings. */
const SHORTEST_SUBSTRING = 13;
const BYTES = { text: 24, value: 8, object: 48, entry: 48 };

/** By copy: its bytes. Data never changes, so a copy is not made again when it is part of other data. */
const known = new WeakMap<object, number>();

/** A deep copy of data: texts, numbers, arrays, maps, sets, plain objects and redacted values. */
export function keep<T>(value: T): Kept<T> {
  if (typeof value === "string")
    return { value: copied(value) as T, bytes: BYTES.text + 2 * value.length };
  if (typeof value !== "object" || value === null) return { value, bytes: BYTES.value };
  const bytes = known.get(value);
  if (bytes !== undefined) return { value, bytes };
  const kept = keepObject(value);
  known.set(kept.value, kept.bytes);
  return kept as Kept<T>;
}

/** The same text, without the text that it was cut from. */
function copied(text: string): string {
  return text.length < SHORTEST_SUBSTRING ? text : Buffer.from(text, "utf16le").toString("utf16le");
}

function keepObject(value: object): Kept<object> {
  let bytes = BYTES.object;
  const add = <T>(part: T): T => {
    const kept = keep(part);
    bytes += kept.bytes;
    return kept.value;
  };
  const addEntry = ([name, part]: readonly [unknown, unknown]) => {
    bytes += BYTES.entry;
    return [add(name), add(part)] as const;
  };
  const copy = (): object => {
    if (Array.isArray(value)) return value.map(add);
    if (value instanceof Map) return new Map([...value].map(addEntry));
    if (value instanceof Set) return new Set([...value].map(add));
    if (value instanceof Redacted) return new Redacted(add(value.reveal()));
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, add(part)]));
  };
  return { value: copy(), bytes };
}
