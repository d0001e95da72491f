/** `sim.ts --small-scope DEPTH [--keys N] [--every N] [--blows N] [--path TEXT] [--json FILE]` */
import { writeFileSync } from "node:fs";
import { exploreSmallScope, replay, type SmallScopeReport } from "./small-scope.ts";

export interface SmallScopeCommand {
  readonly depth: number;
  readonly blows: number;
  readonly keys: number;
  readonly every: number;
  /** One way alone, as a report names it. */
  readonly path: string | undefined;
  readonly json: string | undefined;
}

/** The exit code. */
export async function runSmallScope({ path, json, ...scope }: SmallScopeCommand): Promise<number> {
  if (path !== undefined) {
    const violations = await replay(path, scope.keys, console.log);
    console.log(violations);
    return violations.length > 0 ? 1 : 0;
  }
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1_000);
  const summary = ({ failures, ...counts }: SmallScopeReport) => ({
    ...scope,
    ...counts,
    violations: failures.length,
    seconds: seconds(),
  });
  const onProgress = (report: SmallScopeReport) => console.log(JSON.stringify(summary(report)));
  const report = await exploreSmallScope({ ...scope, onProgress });
  for (const { path: way, violations } of report.failures.slice(0, 10))
    console.log(
      `--small-scope ${scope.depth} --keys ${scope.keys} --path ${way}: ${JSON.stringify(violations)}`,
    );
  if (json !== undefined)
    writeFileSync(json, JSON.stringify({ ...summary(report), details: report.failures }, null, 1));
  return report.failures.length > 0 ? 1 : 0;
}
