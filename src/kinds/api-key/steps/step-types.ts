import type { Effect, ReadStep, Transition } from "../../../reconciler/steps.ts";
import type { ActionOf, ApiKeyAction, ApiKeyKind } from "../rules/snapshot.ts";

type Kinds = ApiKeyAction["kind"];

export type ApiKeyRead<Kind extends Kinds> = ReadStep<ApiKeyKind, ActionOf<Kind>>;
export type ApiKeyEffect<Kind extends Kinds, Answer> = Effect<ApiKeyKind, ActionOf<Kind>, Answer>;
export type ApiKeyTransition<Kind extends Kinds> = Transition<ApiKeyKind, ActionOf<Kind>>;
