import type { Effect, ReadStep } from "../../../reconciler/steps.ts";
import type { AccountBindingsKind, BindingsActionOf } from "../rules/snapshot.ts";

export type BindingsRead<Kind> = ReadStep<AccountBindingsKind, BindingsActionOf<Kind>>;
export type BindingsEffect<Kind, Answer> = Effect<
  AccountBindingsKind,
  BindingsActionOf<Kind>,
  Answer
>;
