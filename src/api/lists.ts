/** Lists, by how server-side apply merges them, so that several writers can each own a part. */
import * as z from "zod";

/** An unordered list without duplicates. */
export function setOf<Item extends z.ZodString | z.ZodNumber>(
  item: Item,
  most: number,
): z.ZodArray<Item> {
  return z
    .array(item)
    .max(most)
    .refine((list) => new Set(list).size === list.length, { error: "must name nothing twice" })
    .meta({ "x-kubernetes-list-type": "set" });
}

/** A list of objects that differ in `keys`; each key is required or has a default. */
export function mapOf<Item extends z.ZodType>(
  item: Item,
  keys: readonly (keyof z.output<Item> & string)[],
  most: number,
): z.ZodArray<Item> {
  const identity = (each: z.output<Item>) => JSON.stringify(keys.map((key) => each[key]));
  return z
    .array(item)
    .max(most)
    .refine((list) => new Set(list.map(identity)).size === list.length, {
      error: `must not have two items with the same ${keys.join(" and ")}`,
    })
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys });
}

/** A list that one writer replaces as a whole. */
export function atomic<Item extends z.ZodType>(item: Item, most: number): z.ZodArray<Item> {
  return z.array(item).max(most).meta({ "x-kubernetes-list-type": "atomic" });
}
