/** The commonly used part of kubectl's JSONPath templates: paths, `[*]`, filters, `range`, and literal text. Pure. */
import { ownEntry } from "../../util/own-entry.ts";
import { UsageError } from "../cli/errors.ts";

type Template = (value: unknown) => string;
type Step = (values: readonly unknown[]) => readonly unknown[];

const BLOCK = /\{([^{}]*)\}/g;

/** Throws UsageError if the template is not valid, or uses more of kubectl's syntax than this supports. */
export function compileJsonPath(template: string): Template {
  const text = template.startsWith("{") || template.includes("{") ? template : `{${template}}`;
  const tokens = [...tokensOf(text)];
  const { render, rest } = compileUntilEnd(tokens, false);
  if (rest.length > 0) throw wrong(template);
  return render;
}

type Token = { readonly text: string } | { readonly block: string };

function* tokensOf(template: string): Generator<Token> {
  let at = 0;
  for (const match of template.matchAll(BLOCK)) {
    if (match.index > at) yield { text: template.slice(at, match.index) };
    yield { block: (match[1] ?? "").trim() };
    at = match.index + match[0].length;
  }
  if (at < template.length) yield { text: template.slice(at) };
}

interface Compiled {
  readonly render: Template;
  readonly rest: readonly Token[];
}

function compileUntilEnd(tokens: readonly Token[], inRange: boolean): Compiled {
  const parts: Template[] = [];
  let rest = tokens;
  for (let [first] = rest; first !== undefined; [first] = rest) {
    if ("block" in first && first.block === "end" && inRange)
      return { render: joined(parts), rest: rest.slice(1) };
    const next = compileToken(first, rest.slice(1));
    parts.push(next.render);
    ({ rest } = next);
  }
  if (inRange) throw wrong("range without end");
  return { render: joined(parts), rest };
}

function compileToken(token: Token, rest: readonly Token[]): Compiled {
  if ("text" in token) {
    if (token.text.includes("{")) throw wrong(token.text);
    return { render: () => token.text, rest };
  }
  const { block } = token;
  if (!block.startsWith("range ")) return { render: compileBlock(block), rest };
  const select = compilePath(block.slice("range ".length).trim());
  const body = compileUntilEnd(rest, true);
  return {
    render: (value) => select([value]).map(body.render).join(""),
    rest: body.rest,
  };
}

const joined =
  (parts: readonly Template[]): Template =>
  (value) =>
    parts.map((part) => part(value)).join("");

function compileBlock(block: string): Template {
  const [, literal] = /^"((?:[^"\\]|\\.)*)"$/.exec(block) ?? [];
  if (literal !== undefined) {
    const text = JSON.parse(`"${literal}"`) as string;
    return () => text;
  }
  const select = compilePath(block);
  return (value) => select([value]).map(printed).join(" ");
}

function printed(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const STEP =
  /^(?:\.?\[(\*|\d+)\]|\.?\['([^']+)'\]|\.?\[\?\(@\.([-\w.]+)\s*(==|!=)\s*(?:"([^"]*)"|(true|false|\d+))\)\]|\.((?:[-\w/]|\\\.)+))/;

function compilePath(path: string): Step {
  const steps: Step[] = [];
  let left = path.replace(/^[$@]/, "");
  while (left !== "" && left !== ".") {
    const match = STEP.exec(left);
    if (match === null) throw wrong(path);
    steps.push(toStep(match));
    left = left.slice(match[0].length);
  }
  return (values) => steps.reduce((found, step) => step(found), values);
}

function toStep([
  ,
  index,
  quoted,
  field = "",
  operator,
  text,
  other,
  name = "",
]: RegExpExecArray): Step {
  if (index !== undefined) return indexed(index);
  if (operator !== undefined) return filtered(field, operator === "==", text ?? other ?? "");
  return named(quoted ?? name.replaceAll("\\.", "."));
}

const indexed =
  (index: string): Step =>
  (values) =>
    values.flatMap((value) => {
      if (!Array.isArray(value)) return [];
      const all = value as readonly unknown[];
      return index === "*" ? all : all.slice(Number(index), Number(index) + 1);
    });

const named =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => {
      if (typeof value !== "object" || value === null) return [];
      const found = ownEntry(value as Readonly<Record<string, unknown>>, name);
      return found === undefined ? [] : [found];
    });

const filtered =
  (field: string, isEqual: boolean, wanted: string): Step =>
  (values) =>
    indexed("*")(values).filter((value) => {
      const [found] = field
        .split(".")
        .reduce((at, name) => named(name)(at), [value] as readonly unknown[]);
      return (found !== undefined && printed(found) === wanted) === isEqual;
    });

function wrong(template: string): UsageError {
  return new UsageError(
    `"${template}" cannot be read as JSONPath: write paths such as {.items[*].object}, {range .items[*]}{.object}{"\\n"}{end}`,
  );
}
