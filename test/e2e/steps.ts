/** Says what happens and how long it took. */

import { Unable } from "../../scripts/image/tools.ts";

export interface Step {
  readonly title: string;
  readonly seconds: number;
  readonly passed: boolean;
  readonly detail?: string;
}

export interface Steps {
  readonly all: readonly Step[];
  /** Runs `work` under a title; what it answers, if a text, is shown beside the time. */
  run<T>(title: string, work: () => Promise<T>): Promise<T>;
}

export function createSteps(print: (line: string) => void): Steps {
  const all: Step[] = [];
  const add = (title: string, startedAt: number, passed: boolean, answer: unknown) => {
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    const detail = typeof answer === "string" && answer !== "" ? { detail: answer } : {};
    all.push({ title, seconds, passed, ...detail });
    const mark = passed ? "ok    " : "FAILED";
    print(`${mark} ${seconds.toFixed(1).padStart(6)} s  ${title}`);
    for (const line of (detail.detail ?? "").split("\n").filter(Boolean))
      print(`                  ${line}`);
  };
  return {
    all,
    async run(title, work) {
      const startedAt = performance.now();
      try {
        const answer = await work();
        add(title, startedAt, true, answer);
        return answer;
      } catch (error) {
        // That this machine cannot do it is for the caller to say.
        if (error instanceof Unable) throw error;
        add(title, startedAt, false, error instanceof Error ? error.message : String(error));
        throw error;
      }
    },
  };
}
