/**
 * The text of Secret entries: plain substitution, no functions, no code.
 *
 * `${name}` stands for a value, `${name:json}` for the value as a JSON string, `$${` for a literal `${`.
 */

export type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string; readonly json: boolean };

const PATTERN = /\$\$\{|\$\{([A-Za-z]+)(:json)?\}/g;

export function parseTemplate(template: string): readonly Token[] {
  const tokens: Token[] = [];
  let from = 0;
  for (const match of template.matchAll(PATTERN)) {
    if (match.index > from) tokens.push({ kind: "text", text: template.slice(from, match.index) });
    const [whole, name, json] = match;
    tokens.push(
      name === undefined
        ? { kind: "text", text: "${" }
        : { kind: "variable", name, json: json !== undefined },
    );
    from = match.index + whole.length;
  }
  if (from < template.length) tokens.push({ kind: "text", text: template.slice(from) });
  return tokens;
}

/** Fills in every variable; one without a value becomes the empty text. */
export function renderTemplate(
  template: string,
  values: Readonly<Record<string, string | undefined>>,
): string {
  return parseTemplate(template)
    .map((token) => (token.kind === "text" ? token.text : rendered(token, values[token.name])))
    .join("");
}

/** Fills in the variables that `values` has and leaves the others open. */
export function fillTemplate(
  template: string,
  values: Readonly<Record<string, string | undefined>>,
): readonly Token[] {
  return parseTemplate(template).map((token) => {
    const value = token.kind === "variable" ? values[token.name] : undefined;
    return token.kind === "text" || value === undefined
      ? token
      : { kind: "text", text: rendered(token, value) };
  });
}

/** Whether the template uses the variable, in either form. */
export function usesVariable(template: string, name: string): boolean {
  return parseTemplate(template).some((token) => token.kind === "variable" && token.name === name);
}

/**
 * The values that turn the tokens into `text`; `undefined` where there are none. Where several would do
 * (two variables side by side), the shortest first: the caller must be able to tell right from wrong.
 */
export function matchTemplate(
  tokens: readonly Token[],
  text: string,
): Readonly<Record<string, string>> | undefined {
  const match = new RegExp(`^${matcher(tokens)}$`, "u").exec(text);
  if (match === null) return undefined;
  const values: Record<string, string> = {};
  for (const [group, captured] of Object.entries(match.groups ?? {})) {
    const [name = "", format] = group.split("_");
    const value = format === "json" ? unquoted(captured) : captured;
    if (value === undefined || (values[name] ?? value) !== value) return undefined;
    values[name] = value;
  }
  return values;
}

type Variable = Extract<Token, { kind: "variable" }>;

function rendered({ json }: Variable, value = ""): string {
  return json ? JSON.stringify(value) : value;
}

function matcher(tokens: readonly Token[]): string {
  const seen = new Set<string>();
  return tokens
    .map((token) => {
      if (token.kind === "text") return RegExp.escape(token.text);
      const group = `${token.name}_${token.json ? "json" : "raw"}`;
      if (seen.has(group)) return `\\k<${group}>`;
      seen.add(group);
      return `(?<${group}>[^]*?)`;
    })
    .join("");
}

function unquoted(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
