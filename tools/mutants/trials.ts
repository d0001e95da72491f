/** Runs vitest against a copy of the sources, over and over. */
import { relative } from "node:path";
import { createVitest, type TestModule, type TestSpecification, type Vitest } from "vitest/node";
import type { Copy } from "./copy.ts";
import type { Named } from "./mutants.ts";
import type { Mutated } from "./sources.ts";
import { namePattern, PROJECTS, testsFor, type VitestSuite } from "./suites.ts";
import type { Verdict } from "./verdict.ts";

/** A mutant may make a test run for ever, which is as good as failing. A file of the chart may take ten minutes. */
const PATIENCE_MS = { unit: 180_000, chart: 900_000, stories: 300_000 };
const MISSED: Verdict = { kind: "Missed" };

export class Trials implements AsyncDisposable {
  readonly #copy: Copy;
  readonly #noticed = new Map<string, Set<string>>();
  #vitest: Vitest;

  private constructor(copy: Copy, vitest: Vitest) {
    this.#copy = copy;
    this.#vitest = vitest;
  }

  static async in(copy: Copy): Promise<Trials> {
    return new Trials(copy, await startVitest(copy.root));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#vitest.close();
  }

  /**
   * First the test that noticed the mutant the last time, then its file, then all that might. Of a suite's files those go
   * first that noticed another mutant of the same source.
   */
  judge(mutant: Named, mutated: Mutated, suite: VitestSuite, known?: string): Promise<Verdict> {
    const likely = this.#likely(suite, mutated.file);
    const act = async () => {
      for await (const verdict of this.#attempts(mutant, suite, [...likely], known)) {
        if (verdict.kind === "Noticed") likely.add(partsOf(verdict.test).file);
        if (verdict.kind !== "Missed") return verdict;
      }
      return MISSED;
    };
    return this.#copy.with(mutated, act, (path) => this.#vitest.invalidateFile(path));
  }

  /** A test that noticed a mutant, on the copy as it is now. */
  again(suite: VitestSuite, noticed: string): Promise<Verdict> {
    const { file, name } = partsOf(noticed);
    return this.#run([file], suite, name);
  }

  async *#attempts(
    mutant: Named,
    suite: VitestSuite,
    likely: readonly string[],
    known?: string,
  ): AsyncGenerator<Verdict> {
    if (known !== undefined) {
      const { file, name } = partsOf(known);
      yield this.#run([file], suite, name);
      yield this.#run([file], suite);
    }
    if (known === undefined && likely.length > 0) yield this.#run(likely, suite);
    for (const files of testsFor(mutant, suite)) yield this.#run(files, suite);
  }

  /** The files of the suite that noticed a mutant of this source. */
  #likely(suite: VitestSuite, source: string): Set<string> {
    const key = `${suite} ${source}`;
    const files = this.#noticed.get(key) ?? new Set();
    this.#noticed.set(key, files);
    return files;
  }

  async #run(paths: readonly string[], suite: VitestSuite, name?: string): Promise<Verdict> {
    const vitest = this.#vitest;
    vitest.setGlobalTestNamePattern(namePattern(suite, name));
    const found = await vitest.globTestSpecifications([...paths]);
    const specifications = found.filter(({ project }) => project.name === PROJECTS[suite]);
    if (specifications.length === 0) return MISSED;
    // What stops at the first failure leaves the modules of earlier runs in their place.
    const before = new Set(modulesOf(specifications));
    const run = vitest.runTestSpecifications(specifications);
    if (await endsInTime(run, PATIENCE_MS[suite]))
      return this.#verdictOf(modulesOf(specifications).filter((module) => !before.has(module)));
    // The second one is by force, as a test may never yield.
    await Promise.all([1, 2].map(() => vitest.cancelCurrentRun("test-failure")));
    await run.catch(() => undefined);
    await vitest.close();
    this.#vitest = await startVitest(this.#copy.root);
    return { kind: "Noticed", test: `${paths.join(" ")}: runs forever` };
  }

  #verdictOf(modules: readonly TestModule[]): Verdict {
    for (const module of modules) {
      const [failed] = module.children.allTests("failed");
      if (failed === undefined) continue;
      const test = failed.fullName.replaceAll(" > ", " ");
      return { kind: "Noticed", test: `${relative(this.#copy.root, module.moduleId)}: ${test}` };
    }
    const errors = modules.flatMap((module) => module.errors());
    if (errors.length === 0) return MISSED;
    return { kind: "Broken", why: errors.map(({ message }) => message).join(" ") };
  }
}

/** `file: name of the test` */
function partsOf(noticed: string): { readonly file: string; readonly name: string } {
  const at = noticed.indexOf(": ");
  return { file: noticed.slice(0, at), name: noticed.slice(at + 2) };
}

function modulesOf(specifications: readonly TestSpecification[]): readonly TestModule[] {
  return specifications.flatMap(({ testModule }) => testModule ?? []);
}

async function startVitest(root: string): Promise<Vitest> {
  const vitest = await createVitest("test", { root, watch: false, bail: 1, reporters: [{}] });
  await vitest.standalone();
  return vitest;
}

async function endsInTime(run: Promise<unknown>, patienceMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), patienceMs);
  return await Promise.race([run.then(() => true), promise]).finally(() => clearTimeout(timer));
}
