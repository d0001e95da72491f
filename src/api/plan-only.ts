/** Whether an object has the annotation that makes the operator only plan for it. */
import { annotations } from "./meta.ts";

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}

/** Any value but `false` counts: a person who writes `True` or `yes` does not want to see a change. */
export function isPlanOnly({ metadata }: Annotated): boolean {
  const value = metadata.annotations?.[annotations.planOnly];
  return value !== undefined && value.trim().toLowerCase() !== "false";
}
