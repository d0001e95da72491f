import type { AnyObject } from "./kinds.ts";
import type { Missing } from "./wait.ts";

/** Reports that the operator has not observed this generation of the object yet. Pure. */
export function unobserved({ status }: AnyObject, generation: number): Missing | undefined {
  return (status?.observedGeneration ?? -1) >= generation
    ? undefined
    : { text: "waiting for the operator to notice the change" };
}
