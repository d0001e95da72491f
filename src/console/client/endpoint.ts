import type { Redacted } from "../../util/redacted.ts";
import { IamError } from "../errors.ts";
import type { Call, CallTraits } from "../exchange/call.ts";
import type { Json, KeyPair } from "../model.ts";
import type { ReadAnswer } from "./answers.ts";

/** A row of the table of console calls. */
export interface Endpoint<Input, Answer> extends CallTraits {
  /** A template with `{saId}` and `{keyId}`, which `ids` replaces. */
  readonly path: string;
  readonly ids?: (input: Input) => Ids;
  readonly query?: (input: Input, page: number) => Query;
  readonly body?: (input: Input) => Json;
  /** Parts of the body that must not be quoted. */
  readonly secrets?: (input: Input) => readonly Redacted[];
  /** The API key to send; `undefined`: the call is made as the connection's user (Bearer). */
  readonly key?: (input: Input) => KeyPair | undefined;
  readonly read: ReadAnswer<Input, Answer>;
  /** Concurrent callers with the same input share an answer. */
  readonly isShared?: true;
  /** Each call starts only after a pause since the last call of this endpoint. */
  readonly maxPauseMs?: number;
}

export type Ids = Readonly<Record<string, string>>;
/** A parameter is repeated for each value of a list, and left out if `undefined`. */
type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

type Reading<Input, Answer> = Endpoint<Input, Answer> & { readonly isMutating: false };
export type Mutating<Input, Answer> = Endpoint<Input, Answer> & { readonly isMutating: true };
export type Row<Input, Answer> = Reading<Input, Answer> | Mutating<Input, Answer>;

export function reading<Input, Answer>(row: Endpoint<Input, Answer>): Reading<Input, Answer> {
  return { ...row, isMutating: false };
}

export function mutating<Input, Answer>(row: Endpoint<Input, Answer>): Mutating<Input, Answer> {
  return { ...row, isMutating: true };
}

/** Throws InvalidArgument if an ID cannot be in a path. */
export function toCall<Input>(
  operation: string,
  row: Row<Input, unknown>,
  input: Input,
  page = 1,
): Call {
  const ids = row.ids?.(input) ?? {};
  const path = withIds(operation, row.path, ids);
  return {
    ...row,
    operation,
    path: withQuery(path, row.query?.(input, page) ?? {}),
    saId: ids.saId,
    body: row.body?.(input),
    secrets: row.secrets?.(input) ?? [],
    key: row.key?.(input),
  };
}

function withIds(operation: string, path: string, ids: Ids): string {
  return Object.entries(ids).reduce(
    (result, [name, id]) => result.replaceAll(`{${name}}`, () => segment(operation, id)),
    path,
  );
}

/** One path segment. Dot segments and an empty segment would change the path, escaped or not. */
function segment(operation: string, id: string): string {
  if (id !== "" && id !== "." && id !== ".." && id.isWellFormed()) return encodeURIComponent(id);
  throw new IamError("InvalidArgument", `${operation} was not sent: the id cannot be in a path`, {
    operation,
    sent: false,
  });
}

function withQuery(path: string, query: Query): string {
  const parameters = Object.entries(query).flatMap(([name, value = []]) =>
    [value].flat().map((each) => `${name}=${encodeURIComponent(String(each).toWellFormed())}`),
  );
  return parameters.length === 0 ? path : `${path}?${parameters.join("&")}`;
}
