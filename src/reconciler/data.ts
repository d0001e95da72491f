import type { Redacted } from "../util/redacted.ts";

/** The same type if it is data. A function, or an object with a method, is assignable to none of its members. */
export type Data<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined | Redacted<unknown>
    ? T
    : T extends (...args: never[]) => unknown
      ? never
      : T extends ReadonlyMap<infer Key, infer Value>
        ? ReadonlyMap<Data<Key>, Data<Value>>
        : T extends ReadonlySet<infer Value>
          ? ReadonlySet<Data<Value>>
          : { readonly [Key in keyof T]: Data<T[Key]> };
