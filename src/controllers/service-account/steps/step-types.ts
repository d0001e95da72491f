import type { Effect, ReadStep, Transition } from "../../frame/steps.ts";
import type { AccountActionOf, AccountKind } from "../rules/snapshot.ts";

export type AccountRead<Kind> = ReadStep<AccountKind, AccountActionOf<Kind>>;
export type AccountEffect<Kind, Answer> = Effect<AccountKind, AccountActionOf<Kind>, Answer>;
export type AccountTransition<Kind> = Transition<AccountKind, AccountActionOf<Kind>>;
