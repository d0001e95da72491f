/** Seeded bugs. `npm run mutants` proves that tests notice each of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A seeded bug: a change of one piece of syntax, wherever below src/ it stands. */
export interface Mutant {
  readonly name: string;
  /** The function, method (`Class.method`) or constant that has the piece. */
  readonly within: string;
  /** What is replaced, with `$A` for any piece and `$$$A` for any number of them. Fits exactly once. */
  readonly find: string;
  /** What comes in its place; nothing of it, where it is empty. */
  readonly replacement: string;
  /** Where the tests are that should notice it. */
  readonly tests: readonly string[];
}

const testsOf: Readonly<Record<string, readonly string[]>> = {
  "api-key.mutants": ["test/unit/controllers/", "test/unit/iam/", "test/unit/util/"],
  "console.mutants": ["test/unit/iam/", "test/tenants"],
  "account.mutants": ["test/unit/controllers/"],
  "cluster.mutants": [
    "test/unit/kube/",
    "test/server/kube/",
    "test/unit/runtime/",
    "test/unit/app/",
    "test/tenants",
  ],
  "consumers.mutants": ["test/unit/controllers/"],
};

/** `@ within: name`, then lines with `-` for what is found and with `+` for what it becomes. */
const ENTRY = /^@ (?<within>\S+): (?<name>.+)\n(?<find>(?:-.*\n)+)(?<replacement>(?:\+.*\n)+)/gm;

export const mutants: readonly Mutant[] = Object.entries(testsOf).flatMap(([file, tests]) =>
  readMutants(readFileSync(join(import.meta.dirname, file), "utf8"), tests),
);

/** Throws for a line that belongs to no mutant. */
function readMutants(text: string, tests: readonly string[]): readonly Mutant[] {
  const stray = text.replace(ENTRY, "").match(/^[^#\n].*$/m);
  if (stray !== null) throw new Error(`not a mutant: ${stray[0]}`);
  return [...text.matchAll(ENTRY)].map(({ groups }) => ({
    name: groups?.name ?? "",
    within: groups?.within ?? "",
    find: withoutMarks(groups?.find ?? ""),
    replacement: withoutMarks(groups?.replacement ?? ""),
    tests,
  }));
}

function withoutMarks(lines: string): string {
  return lines.replace(/^[-+] ?/gm, "").trim();
}
