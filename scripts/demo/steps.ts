/** Says what happens and how long it took. */

export interface Steps {
  /** Runs `work` under a title that a newcomer understands. */
  run<T>(title: string, work: () => Promise<T>): Promise<T>;
  show(heading: string, text: string): void;
  summary(): void;
}

export function createSteps(print: (line: string) => void): Steps {
  const times: { title: string; seconds: number }[] = [];
  return {
    async run(title, work) {
      print(`\n▸ ${title}`);
      const start = performance.now();
      const result = await work();
      const seconds = (performance.now() - start) / 1_000;
      times.push({ title, seconds });
      print(`  done in ${seconds.toFixed(1)} s`);
      return result;
    },
    show(heading, text) {
      print(`\n  ${heading}`);
      for (const line of text.trimEnd().split("\n")) print(`    ${line}`);
    },
    summary() {
      print("\nHow long each step took");
      for (const { title, seconds } of times)
        print(`  ${seconds.toFixed(1).padStart(5)} s  ${title}`);
      const total = times.reduce((sum, { seconds }) => sum + seconds, 0);
      print(`  ${total.toFixed(1).padStart(5)} s  in all`);
    },
  };
}
