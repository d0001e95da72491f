/** Statuses in the form that controllers use: derived from the schema, with times as {@link Instant}s. */
import * as z from "zod";
import { ownEntry } from "../util/own-entry.ts";
import { type Instant, parseInstant, toIso8601 } from "../util/time.ts";

/** The decoded values of a schema; an absent field is `undefined`. */
type Decoded<Schema> = Schema extends z.ZodISODateTime
  ? Instant
  : Schema extends z.ZodOptional<infer Inner>
    ? Decoded<Inner> | undefined
    : Schema extends z.ZodArray<infer Item>
      ? readonly Decoded<Item>[]
      : Schema extends z.ZodObject<infer Shape>
        ? { readonly [Field in keyof Shape]: Decoded<Shape[Field]> }
        : z.output<Schema>;

/** Fields with a default are never `undefined`. */
type WithDefaults<State, Defaults> = {
  readonly [Field in keyof State]: Field extends keyof Defaults
    ? Exclude<State[Field], undefined>
    : State[Field];
};

interface StatusCodec<Stored, State> {
  /**
   * Tolerant, because a stored status may be older than the schema: an invalid time becomes the epoch, or `undefined`
   * if the field is optional; fields that are not in the schema are dropped.
   */
  decode(status: object | undefined): State;
  /** Leaves out fields that are absent, `undefined`, or equal to their default. */
  encode(state: Partial<State>): Stored;
}

/** `defaults` are the values of top-level fields that are missing in a stored status. */
export function createStatusCodec<
  Schema extends z.ZodObject,
  const Defaults extends Partial<Decoded<Schema>>,
>(
  schema: Schema,
  defaults: Defaults,
): StatusCodec<z.output<Schema>, WithDefaults<Decoded<Schema>, Defaults>> {
  type State = WithDefaults<Decoded<Schema>, Defaults>;
  const isDefault = ([name, value]: readonly [string, unknown]) =>
    Object.hasOwn(defaults, name) &&
    JSON.stringify(value) === JSON.stringify(ownEntry<unknown>(defaults, name));
  return {
    decode: (status = {}) =>
      ({ ...defaults, ...convertFields(schema, status, toInstant) }) as State,
    encode: (state) => {
      const told = Object.entries(state).filter((entry) => !isDefault(entry));
      return convertFields(schema, Object.fromEntries(told), toText) as z.output<Schema>;
    },
  };
}

type ConvertTime = (time: unknown, isOptional: boolean) => Instant | string | undefined;

function toInstant(text: unknown, isOptional: boolean): Instant | undefined {
  const instant = typeof text === "string" ? parseInstant(text) : undefined;
  return instant ?? (isOptional ? undefined : 0);
}

function toText(instant: unknown): string {
  return toIso8601(instant as Instant);
}

function convert(
  schema: z.core.$ZodType,
  value: unknown,
  time: ConvertTime,
  isOptional = false,
): unknown {
  if (schema instanceof z.ZodISODateTime) return time(value, isOptional);
  if (value === undefined || value === null) return undefined;
  if (schema instanceof z.ZodOptional) return convert(schema.unwrap(), value, time, true);
  if (schema instanceof z.ZodArray)
    return Array.from(value as readonly unknown[], (each) => convert(schema.element, each, time));
  return schema instanceof z.ZodObject ? convertFields(schema, value, time) : value;
}

function convertFields(schema: z.ZodObject, value: object, time: ConvertTime): object {
  const fields = value as Readonly<Record<string, unknown>>;
  const converted = Object.entries(schema.shape)
    .map(([name, field]) => [name, convert(field, ownEntry(fields, name), time)] as const)
    .filter(([, told]) => told !== undefined);
  return Object.fromEntries(converted);
}
