import { invalid } from "./api-error.ts";

export interface IntegerRule {
  readonly min: number;
  readonly max?: number;
  readonly default: number;
}

/** Reads query parameters by their rules; everything that breaks one is a 422. */
export class Query {
  readonly #params: URLSearchParams;

  constructor(params: URLSearchParams) {
    this.#params = params;
  }

  /** The last value when a parameter is repeated; `undefined` when it is absent. */
  text(name: string): string | undefined {
    return this.#params.getAll(name).at(-1);
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw invalid(["query", name], "field required");
    if (value === "") throw invalid(["query", name], "must have at least 1 character");
    return value;
  }

  integer(name: string, rule: IntegerRule): number {
    const text = this.text(name);
    return text === undefined ? rule.default : parseInteger(name, text, rule);
  }

  requiredInteger(name: string, rule: Omit<IntegerRule, "default">): number {
    return parseInteger(name, this.required(name), rule);
  }

  oneOf<const T extends string>(name: string, values: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const found = values.find((value) => value === text);
    if (found === undefined) throw invalid(["query", name], `must be one of ${values.join(", ")}`);
    return found;
  }

  /** Every value of a repeatable parameter. */
  all(name: string): readonly string[] {
    return this.#params.getAll(name);
  }
}

function parseInteger(name: string, text: string, rule: Omit<IntegerRule, "default">): number {
  const where = ["query", name];
  if (!/^-?[0-9]{1,15}$/.test(text)) throw invalid(where, "must be an integer");
  const value = Number(text);
  if (value < rule.min) throw invalid(where, `must be at least ${rule.min}`);
  if (rule.max !== undefined && value > rule.max)
    throw invalid(where, `must be at most ${rule.max}`);
  return value;
}
