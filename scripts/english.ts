/** Finds patterns that make English read as a translation, in what people read: string literals, comments, the chart and pages. */
import { Lang, parse } from "@ast-grep/napi";

export interface Text {
  readonly file: string;
  readonly line: number;
  readonly kind: "message" | "comment" | "page";
  readonly text: string;
}

export interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Absent: all kinds. Elsewhere, the pattern is right or still frequent. */
  readonly kinds?: readonly Text["kind"][];
}

const NO_COMMENTS: Rule["kinds"] = ["message", "page"];

export const RULES: readonly Rule[] = [
  {
    pattern: /\b(is|are|was|were|has|have) no (?!longer|more|later)/i,
    instead: 'negate the verb: "is not valid PEM"',
    kinds: NO_COMMENTS,
  },
  { pattern: /\b(nobody|somebody|someone|everybody)\b/i, instead: "name who acts" },
  { pattern: /\bwhoever\b/i, instead: 'a noun: "anyone who can …"' },
  { pattern: /\brights\b/, instead: '"permissions"', kinds: NO_COMMENTS },
  {
    pattern: /\bmay not\b/,
    instead: '"must not", "cannot" or "do not have permission to"',
    kinds: NO_COMMENTS,
  },
  { pattern: /\b(besides|all the same)\b/i, instead: '"in addition to", "anyway"' },
  { pattern: /\bbut for\b/i, instead: '"except"', kinds: NO_COMMENTS },
  { pattern: /\b(also|even) where\b/i, instead: '"even if"' },
  { pattern: /\bof ours\b/i, instead: '"of the operator"' },
  { pattern: /\bshall\b/i, instead: '"must", or the present tense' },
  { pattern: /\banew\b/i, instead: '"again"' },
  { pattern: /\bcalls? \d/i, instead: "the method's name" },
  { pattern: /\bat (the|its|an?) console\b/i, instead: '"in the console"' },
  {
    // `kubectl iam status` shows the instructions of a message alone.
    pattern:
      /(?:^.|[.!?] )(Activate|Add|Ask|Choose|Correct|Create|Delete|Find|Leave|Remove|Restart|Revoke|Set|Use) (it|them|these|those|one of them)\b/,
    instead: "the noun, since an instruction is shown without the sentence before it",
    kinds: ["message"],
  },
  ...onPages(
    [
      /(^|[.:;,|] )where (the|an?|it|they|there|two|you|that|one|this|these|its)\b/i,
      '"if" or "when"',
    ],
    [/\balso (where|with|if|when)\b/i, '"even"'],
    [/\b(has|have) to\b/i, '"must"'],
    [/\b(vanish(es)?|goes (away|with))\b/i, '"is deleted"'],
    [/\bend(s|ed|ing)? (an?|the|superseded) keys?\b/i, '"revoke" or "delete"'],
    [/\b(come|comes|came|becomes?|became) of\b/i, "the result"],
    [/(?<!certificate )\bauthorit(y|ies)\b/i, '"CA"'],
    [/\b(another one|of (its|their|your) own)\b/i, "the noun again"],
    [/\b(anybody|whatever)\b/i, "name who or what it is"],
  ),
];

/** Rules for pages alone: in code, these patterns are still frequent. */
function onPages(...rules: readonly (readonly [RegExp, string])[]): readonly Rule[] {
  return rules.map(([pattern, instead]) => ({ pattern, instead, kinds: ["page"] }));
}

/** Texts that a rule finds and that are right, with the reason. */
export const EXCEPTIONS: Readonly<Record<string, string>> = {};

const NODES = { any: ["string", "template_string", "comment"].map((kind) => ({ kind })) };

export function textsOf(file: string, source: string): readonly Text[] {
  return (
    parse(Lang.TypeScript, source)
      .root()
      .findAll({ rule: NODES })
      .map((node) => ({
        file,
        line: node.range().start.line + 1,
        kind: node.kind() === "comment" ? ("comment" as const) : ("message" as const),
        text: node
          .text()
          .replaceAll(/\n\s*\* ?/g, " ")
          .replaceAll(/\$\{[^}]*\}/g, "…"),
      }))
      // A single word is a name.
      .filter(({ kind, text }) => kind === "comment" || text.includes(" "))
  );
}

/** Each line of YAML or of a template: comments there document values, so they are messages. */
export function linesOf(file: string, source: string): readonly Text[] {
  return source.split("\n").map((text, at) => ({ file, line: at + 1, kind: "message", text }));
}

/** Each line of a Markdown page, without code and the targets of links. */
export function pageLinesOf(file: string, source: string): readonly Text[] {
  const prose = source
    .replaceAll(/^( *)```[^\n]*\n[\s\S]*?^\1```$/gm, (block) => block.replaceAll(/[^\n]/g, ""))
    .replaceAll(/`[^`\n]*`/g, "…")
    .replaceAll(/\]\([^)]*\)/g, "]");
  return prose.split("\n").map((text, at) => ({ file, line: at + 1, kind: "page", text }));
}

/** Answers one complaint for each text and rule, and for each exception that is not needed. */
export function judgeEnglish(
  texts: readonly Text[],
  exceptions: Readonly<Record<string, string>> = EXCEPTIONS,
): readonly string[] {
  const used = new Set<string>();
  const complaints = texts.flatMap(({ file, line, kind, text }) =>
    RULES.flatMap(({ pattern, instead, kinds }) => {
      const isOut = kinds !== undefined && !kinds.includes(kind);
      const found = isOut ? null : pattern.exec(text);
      if (found === null) return [];
      const exception = Object.keys(exceptions).find((each) => text.includes(each));
      if (exception === undefined)
        return [`${file}:${line} "${found[0].trim()}": write ${instead}`];
      used.add(exception);
      return [];
    }),
  );
  const idle = Object.keys(exceptions).filter((each) => !used.has(each));
  return [
    ...complaints,
    ...idle.map((each) => `scripts/english.ts: nothing needs the exception "${each}"`),
  ];
}
