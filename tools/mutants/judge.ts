/** Whether a suite notices a mutant. What that takes is started when the first mutant needs it. */
import { toError } from "../../src/util/to-error.ts";
import { compile } from "./compile.ts";
import { Copy } from "./copy.ts";
import type { Generated } from "./generated.ts";
import type { Suite } from "./matrix.ts";
import { areaOf, type Mutant } from "./mutants.ts";
import { ONLY_KNOWN, simulate } from "./simulate.ts";
import { Sources } from "./sources.ts";
import { Trials } from "./trials.ts";
import type { Verdict } from "./verdict.ts";

export class Judge implements AsyncDisposable {
  readonly #sources: Sources;
  readonly #copy: Copy;
  /** Whether a test passes without any mutant; of the chart, its whole file. */
  readonly #sound = new Map<string, Promise<boolean>>();
  #trials: Trials | undefined;

  constructor(root: string) {
    this.#sources = new Sources(root);
    this.#copy = new Copy(root);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#trials?.[Symbol.asyncDispose]();
    this.#copy[Symbol.dispose]();
  }

  /** `known` is what noticed the mutant the last time. */
  async judge(mutant: Mutant | Generated, suite: Suite, known?: string): Promise<Verdict> {
    try {
      const verdict = await this.#try(mutant, suite, known);
      if (verdict.kind !== "Noticed") return verdict;
      const { test } = verdict;
      const tried = suite === "chart" ? test.replace(/: .*/s, ": ") : test;
      const isSound = this.#sound.get(tried) ?? this.#passes(suite, tried);
      this.#sound.set(tried, isSound);
      return (await isSound)
        ? verdict
        : { kind: "Broken", why: `fails without a mutant as well: ${test}` };
    } catch (error) {
      return { kind: "Broken", why: toError(error).message };
    }
  }

  async #try(mutant: Mutant | Generated, suite: Suite, known?: string): Promise<Verdict> {
    const mutated = "mutated" in mutant ? mutant.mutated : this.#sources.apply(mutant);
    if (suite === "simulation")
      return this.#copy.with(mutated, () => simulate(this.#copy.root, areaOf(mutant), known));
    const trials = await this.#startTrials();
    const verdict = await trials.judge(mutant, mutated, suite, known);
    if (verdict.kind !== "Missed" || !("mutated" in mutant)) return verdict;
    const compiled = await this.#copy.with(mutated, () => compile(this.#copy.root, mutated.file));
    return compiled.kind === "Missed" ? trials.judge(mutant, mutated, "stories") : compiled;
  }

  async #passes(suite: Suite, test: string): Promise<boolean> {
    if (suite === "simulation")
      return (await simulate(this.#copy.root, ONLY_KNOWN, test)).kind === "Missed";
    const trials = await this.#startTrials();
    return (await trials.again(suite, test)).kind === "Missed";
  }

  async #startTrials(): Promise<Trials> {
    this.#trials ??= await Trials.in(this.#copy);
    return this.#trials;
  }
}
