import type { AnyObject } from "./kinds.ts";
import type { Missing } from "./wait.ts";

/** What is missing until the operator has reported on this generation of the object. Pure. */
export function unobserved({ status }: AnyObject, generation: number): Missing | undefined {
  return (status?.observedGeneration ?? -1) >= generation
    ? undefined
    : { text: "waiting for the operator to notice the change" };
}
