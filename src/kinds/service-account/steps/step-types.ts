import type { Effect, ReadStep, Transition } from "../../../reconciler/steps.ts";
import type { AccountActionOf, AccountKind } from "../rules/snapshot.ts";

export type AccountRead<Kind> = ReadStep<AccountKind, AccountActionOf<Kind>>;
export type AccountEffect<Kind, Answer> = Effect<AccountKind, AccountActionOf<Kind>, Answer>;
export type AccountTransition<Kind> = Transition<AccountKind, AccountActionOf<Kind>>;
