/** Marks a branch that the types rule out; throws if a value reaches it anyway. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
