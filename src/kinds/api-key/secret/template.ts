/**
 * Templates of Secret entries: plain substitution, no functions, no code.
 *
 * `${name}` is replaced with a value, `${name:json}` with the value as a JSON string, `$${` with a literal `${`.
 */
import { ownEntry } from "../../../util/own-entry.ts";
import { parseJson } from "../../../util/parse-json.ts";

export type TemplateToken =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string; readonly json: boolean };

const PATTERN = /\$\$\{|\$\{([A-Za-z]+)(:json)?\}/g;

function parseTemplate(template: string): readonly TemplateToken[] {
  const tokens: TemplateToken[] = [];
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

/** Fills in every variable; a variable without a value becomes the empty string. */
export function renderTemplate(
  template: string,
  values: Readonly<Record<string, string | undefined>>,
): string {
  return parseTemplate(template)
    .map((token) =>
      token.kind === "text" ? token.text : rendered(token, ownEntry(values, token.name)),
    )
    .join("");
}

/** Fills in the variables in `values`; other variables remain. */
export function fillTemplate(
  template: string,
  values: Readonly<Record<string, string | undefined>>,
): readonly TemplateToken[] {
  return parseTemplate(template).map((token) => {
    const value = token.kind === "variable" ? ownEntry(values, token.name) : undefined;
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
 * The values that turn the tokens into `text`; `undefined` if there are none. If several values match (two adjacent
 * variables), the result is the first match that `accept` approves, the shortest value first.
 */
export function matchTemplate(
  tokens: readonly TemplateToken[],
  text: string,
  accept: (values: Readonly<Record<string, string>>) => boolean = () => true,
): Readonly<Record<string, string>> | undefined {
  const matching = { tokens, text, accept, effortLeft: MAX_EFFORT };
  return matchFrom(matching, { index: 0, at: 0, values: {} });
}

/**
 * Work before a match is given up, in characters read; an edited text or template could otherwise take forever. Enough
 * for one pass over the largest Secret, and a few hundredths of a second at most.
 */
const MAX_EFFORT = 4_000_000;
const EFFORT_OF_A_TOKEN = 32;
const EFFORT_OF_A_TRY = 256;

interface Matching {
  readonly tokens: readonly TemplateToken[];
  readonly text: string;
  readonly accept: (values: Readonly<Record<string, string>>) => boolean;
  effortLeft: number;
}

/** Pays for work that is about to be done; false if the match must be given up. */
function spend(matching: Matching, effort: number): boolean {
  matching.effortLeft -= effort;
  return matching.effortLeft >= 0;
}

/** State of a match: the next token, the position in the text, and the values found so far. */
interface MatchProgress {
  readonly index: number;
  readonly at: number;
  readonly values: Readonly<Record<string, string>>;
}

function matchFrom(matching: Matching, start: MatchProgress): MatchProgress["values"] | undefined {
  const { tokens, text, accept } = matching;
  const { values } = start;
  let { index, at } = start;
  for (let token = tokens[index]; token !== undefined; token = tokens[index]) {
    if (token.kind === "variable" && !Object.hasOwn(values, token.name))
      return matchVariable(token, matching, { index, at, values });
    const expected =
      token.kind === "text" ? token.text : rendered(token, ownEntry(values, token.name));
    if (!spend(matching, EFFORT_OF_A_TOKEN + expected.length)) return undefined;
    if (!text.startsWith(expected, at)) return undefined;
    at += expected.length;
    index += 1;
  }
  return at === text.length && accept(values) ? values : undefined;
}

function matchVariable(
  token: Variable,
  matching: Matching,
  { index, at, values }: MatchProgress,
): MatchProgress["values"] | undefined {
  for (const { value, end } of candidates(token, matching, index, at)) {
    if (!spend(matching, EFFORT_OF_A_TRY + value.length)) return undefined;
    const found = matchFrom(matching, {
      index: index + 1,
      at: end,
      values: { ...values, [token.name]: value },
    });
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Candidates for the value of a variable at a position in the text. */
function* candidates(
  { json }: Variable,
  matching: Matching,
  index: number,
  at: number,
): Iterable<{ readonly value: string; readonly end: number }> {
  const { tokens, text } = matching;
  for (const end of json
    ? endOfJsonString(matching, at)
    : endsOfText(tokens[index + 1], matching, at)) {
    const stored = text.slice(at, end);
    const value = json ? unquoted(stored) : stored;
    if (value !== undefined) yield { value, end };
  }
}

/** Possible end positions of a raw value that starts at a position in the text: before the text that follows it. */
function* endsOfText(
  next: TemplateToken | undefined,
  matching: Matching,
  at: number,
): Iterable<number> {
  const { text } = matching;
  const landmark = next?.kind === "text" ? next.text : "";
  const find = (from: number) => {
    const found = text.indexOf(landmark, from);
    return spend(matching, (found < 0 ? text.length : found) - from) ? found : -1;
  };
  let end = next === undefined ? text.length : find(at);
  while (end >= 0) {
    yield end;
    end = end < text.length ? find(end + 1) : -1;
  }
}

/** End position of the JSON string that starts at a position in the text. */
function endOfJsonString(matching: Matching, at: number): readonly number[] {
  const { text } = matching;
  if (text[at] !== '"') return [];
  const string = /"(?:[^"\\]|\\.)*"/y;
  string.lastIndex = at;
  const isFound = string.test(text);
  // An unterminated string was searched up to the end of the text.
  const isPaid = spend(matching, (isFound ? string.lastIndex : text.length) - at);
  return isFound && isPaid ? [string.lastIndex] : [];
}

type Variable = Extract<TemplateToken, { kind: "variable" }>;

function rendered({ json }: Variable, value = ""): string {
  return json ? JSON.stringify(value) : value;
}

function unquoted(text: string): string | undefined {
  const value = parseJson(text);
  return typeof value === "string" ? value : undefined;
}
