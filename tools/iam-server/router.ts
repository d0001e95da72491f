import {
  type AnyOperation,
  EXTRA_OPERATIONS,
  type ExtraCalls,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationShape,
} from "./operations.ts";

export interface Route {
  readonly operation: AnyOperation;
  readonly shape: OperationShape;
  readonly params: Readonly<Record<string, string>>;
}

interface Template {
  readonly operation: AnyOperation;
  readonly shape: OperationShape;
  readonly method: string;
  readonly pattern: RegExp;
}

/** Finds the call behind a method and a path; `undefined` for everything that is not shown. */
export class Router {
  readonly #exact = new Map<string, Route>();
  readonly #templates: Template[] = [];

  constructor(extraCalls: ExtraCalls = {}) {
    for (const operation of OPERATION_NAMES) this.#add(operation, OPERATIONS[operation]);
    for (const operation of EXTRA_OPERATIONS) {
      const extra = extraCalls[operation];
      if (extra === undefined) continue;
      const method = extra.method.toUpperCase() as OperationShape["method"];
      this.#add(operation, { method, path: extra.path, auth: "bearer", family: "iam" });
    }
  }

  find(method: string, path: string): Route | undefined {
    const exact = this.#exact.get(`${method} ${path}`);
    if (exact !== undefined) return exact;
    for (const { operation, shape, method: wanted, pattern } of this.#templates) {
      const match = method === wanted ? pattern.exec(path) : null;
      const params = match && decodeAll(match.groups ?? {});
      if (params) return { operation, shape, params };
    }
    return undefined;
  }

  #add(operation: AnyOperation, shape: OperationShape): void {
    const { method, path } = shape;
    if (!path.includes("{")) {
      this.#exact.set(`${method} ${path}`, { operation, shape, params: {} });
      return;
    }
    const source = path
      .split(/\{(\w+)\}/)
      .map((part, index) => (index % 2 === 1 ? `(?<${part}>[^/]+)` : escapeText(part)))
      .join("");
    this.#templates.push({ operation, shape, method, pattern: new RegExp(`^${source}$`) });
  }
}

/** `undefined` where a part is not valid percent-encoding. */
function decodeAll(groups: Record<string, string>): Record<string, string> | undefined {
  try {
    return Object.fromEntries(
      Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]),
    );
  } catch {
    return undefined;
  }
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
