/** Runs tests against a copy of the sources, over and over, in one vitest. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createVitest, type TestModule, type TestSpecification, type Vitest } from "vitest/node";
import type { Suite } from "./matrix.ts";
import type { Mutant } from "./mutants.ts";
import type { Mutated } from "./sources.ts";
import { PROJECTS, testsFor } from "./suites.ts";

export type Verdict =
  /** `file: name of the test` */
  | { readonly kind: "Noticed"; readonly test: string }
  | { readonly kind: "Missed" }
  | { readonly kind: "Broken"; readonly why: string };

const COPIED = ["src", "test", "crds", "package.json", "vitest.config.ts", "tsconfig.json"];
/** A mutant may make a test run for ever, which is as good as failing. */
const PATIENCE_MS = 180_000;
const MISSED: Verdict = { kind: "Missed" };

export class Trials implements AsyncDisposable {
  readonly #copy: string;
  #vitest: Vitest;

  private constructor(copy: string, vitest: Vitest) {
    this.#copy = copy;
    this.#vitest = vitest;
  }

  static async of(root: string): Promise<Trials> {
    const copy = mkdtempSync(join(tmpdir(), "mutants-"));
    for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    return new Trials(copy, await startVitest(copy));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#vitest.close();
    rmSync(this.#copy, { recursive: true, force: true });
  }

  /** First the test that noticed the mutant the last time, then its file, then all that might. */
  async judge(
    mutant: Mutant,
    { file, text }: Mutated,
    suite: Suite,
    known?: string,
  ): Promise<Verdict> {
    const path = join(this.#copy, file);
    const original = readFileSync(path, "utf8");
    this.#write(path, text);
    try {
      for await (const verdict of this.#attempts(mutant, suite, known))
        if (verdict.kind !== "Missed") return verdict;
      return MISSED;
    } finally {
      this.#write(path, original);
    }
  }

  async *#attempts(mutant: Mutant, suite: Suite, known?: string): AsyncGenerator<Verdict> {
    const project = PROJECTS[suite];
    const [, file, name] = known?.match(/^(.+?): (.+)$/s) ?? [];
    if (file !== undefined) {
      yield this.#run([file], project, name);
      yield this.#run([file], project);
    }
    yield this.#run(testsFor(mutant, suite), project);
  }

  #write(path: string, text: string): void {
    writeFileSync(path, text);
    this.#vitest.invalidateFile(path);
  }

  async #run(paths: readonly string[], projectName: string, name?: string): Promise<Verdict> {
    const vitest = this.#vitest;
    if (name === undefined) vitest.resetGlobalTestNamePattern();
    else vitest.setGlobalTestNamePattern(new RegExp(`^${RegExp.escape(name)}$`));
    const found = await vitest.globTestSpecifications([...paths]);
    const specifications = found.filter(({ project }) => project.name === projectName);
    if (specifications.length === 0) return MISSED;
    // What stops at the first failure leaves the modules of earlier runs in their place.
    const before = new Set(modulesOf(specifications));
    const run = vitest.runTestSpecifications(specifications);
    if (await endsInTime(run))
      return this.#verdictOf(modulesOf(specifications).filter((module) => !before.has(module)));
    // The second one is by force, as a test may never yield.
    await Promise.all([1, 2].map(() => vitest.cancelCurrentRun("test-failure")));
    await run.catch(() => undefined);
    await vitest.close();
    this.#vitest = await startVitest(this.#copy);
    return { kind: "Noticed", test: `${paths.join(" ")}: runs forever` };
  }

  #verdictOf(modules: readonly TestModule[]): Verdict {
    for (const module of modules) {
      const [failed] = module.children.allTests("failed");
      if (failed === undefined) continue;
      const test = failed.fullName.replaceAll(" > ", " ");
      return { kind: "Noticed", test: `${relative(this.#copy, module.moduleId)}: ${test}` };
    }
    const errors = modules.flatMap((module) => module.errors());
    if (errors.length === 0) return MISSED;
    return { kind: "Broken", why: errors.map(({ message }) => message).join(" ") };
  }
}

function modulesOf(specifications: readonly TestSpecification[]): readonly TestModule[] {
  return specifications.flatMap(({ testModule }) => testModule ?? []);
}

async function startVitest(root: string): Promise<Vitest> {
  const vitest = await createVitest("test", { root, watch: false, bail: 1, reporters: [{}] });
  await vitest.standalone();
  return vitest;
}

async function endsInTime(run: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), PATIENCE_MS);
  return await Promise.race([run.then(() => true), promise]).finally(() => clearTimeout(timer));
}
