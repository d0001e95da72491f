/** Marks a branch the types rule out; throws where a value got there all the same. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
