/** Renders names and values below each other, like kubectl describe. Pure. */
import { clean, type Screen, type Style, wrap } from "./screen.ts";

export interface Field {
  readonly name: string;
  /** One line each. */
  readonly values: readonly string[];
  readonly style?: Style | undefined;
}

/** A field with its values; leaves out `undefined` values. */
export function field(
  name: string,
  ...values: readonly (string | undefined | { text: string; style: Style | undefined })[]
): Field {
  const present = values.filter((value) => value !== undefined);
  const style = present.map((value) => (typeof value === "string" ? undefined : value.style))[0];
  return {
    name,
    values: present.map((value) => (typeof value === "string" ? value : value.text)),
    style,
  };
}

const GAP = 2;

/** Leaves out fields without values; wraps long values in their column. */
export function renderFields(fields: readonly Field[], { width, paint }: Screen): string {
  const shown = fields.filter(({ values }) => values.length > 0);
  const indent = Math.max(...shown.map(({ name }) => name.length)) + GAP;
  return shown
    .flatMap(({ name, values, style }) =>
      values
        .flatMap((value) => wrap(clean(value), width && width - indent))
        .map((line, index) => `${(index === 0 ? name : "").padEnd(indent)}${paint(style, line)}`),
    )
    .join("\n");
}
