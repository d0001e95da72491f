/** Seeded bugs. `npm run mutants` proves that tests notice each of them. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

/** A seeded bug: a change of one piece of syntax, in any file below src/. In the area `chart`: of text in one file of the chart. */
export interface Mutant {
  /** `area/bug`: the file that lists it, and its name there. */
  readonly name: string;
  /** The function, method (`Class.method`) or constant that has the piece; of the chart, the file. */
  readonly within: string;
  /** What is replaced, with `$A` for any piece and `$$$A` for any number of them. Fits exactly once. */
  readonly find: string;
  /** What comes in its place; nothing of it, where it is empty. */
  readonly replacement: string;
}

/** `@ bug: within`, then lines with `-` for what is found and with `+` for what it becomes. */
const ENTRY =
  /^@ (?<bug>[a-z0-9-]+): (?<within>\S+)\n(?<find>(?:-.*\n)+)(?<replacement>(?:\+.*\n)+)/gm;

/** By its name, `areaOf` tells the area of a bug. */
export type Named = Pick<Mutant, "name">;

export const mutants: readonly Mutant[] = globSync("*.mutants", { cwd: import.meta.dirname })
  .toSorted()
  .flatMap((file) =>
    readMutants(basename(file, ".mutants"), readFileSync(join(import.meta.dirname, file), "utf8")),
  );

export const CHART_AREA = "chart";

export function areaOf({ name }: Named): string {
  return name.split("/")[0] ?? "";
}

/** Throws for a line that belongs to no mutant. */
function readMutants(area: string, text: string): readonly Mutant[] {
  const stray = text.replace(ENTRY, "").match(/^[^#\n].*$/m);
  if (stray !== null) throw new Error(`${area}.mutants: not part of a mutant: ${stray[0]}`);
  return [...text.matchAll(ENTRY)].map(({ groups }) => ({
    name: `${area}/${groups?.bug}`,
    within: groups?.within ?? "",
    find: withoutMarks(groups?.find ?? ""),
    replacement: withoutMarks(groups?.replacement ?? ""),
  }));
}

function withoutMarks(lines: string): string {
  return lines.replace(/^[-+] ?/gm, "").trim();
}
