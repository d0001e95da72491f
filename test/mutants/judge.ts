/** Whether a suite notices a mutant. What that takes is started when the first mutant needs it. */
import { toError } from "../../src/util/to-error.ts";
import { Copy } from "./copy.ts";
import type { Suite } from "./matrix.ts";
import type { Mutant } from "./mutants.ts";
import { simulate } from "./simulate.ts";
import { Sources } from "./sources.ts";
import { Trials } from "./trials.ts";
import type { Verdict } from "./verdict.ts";

export class Judge implements AsyncDisposable {
  readonly #sources: Sources;
  readonly #copy: Copy;
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
  async judge(mutant: Mutant, suite: Suite, known?: string): Promise<Verdict> {
    try {
      const mutated = this.#sources.apply(mutant);
      if (suite === "simulation")
        return await this.#copy.with(mutated, () => simulate(this.#copy.root, known));
      this.#trials ??= await Trials.in(this.#copy);
      return await this.#trials.judge(mutant, mutated, suite, known);
    } catch (error) {
      return { kind: "Broken", why: toError(error).message };
    }
  }
}
