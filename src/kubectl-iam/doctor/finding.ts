/** The result of a check, and its rendering. */
import { type AnyObject, nameOf } from "../cluster/kinds.ts";
import { reportOf } from "../cluster/why-delayed.ts";
import { readinessOf } from "../view/readiness.ts";
import { clean, type Screen, type Style, wrap } from "../view/screen.ts";

export interface Finding {
  readonly check: string;
  /**
   * `unknown`: the check needs something that cannot be read, and the text says what. `skipped`: the check was not
   * requested, or does not apply.
   */
  readonly verdict: "ok" | "warning" | "failed" | "unknown" | "skipped";
  readonly found: string;
  /** What to do about the finding; further lines belong to the first line. */
  readonly remedy?: string | undefined;
}

export const ok = (check: string, found: string): Finding => ({ check, verdict: "ok", found });
export const unknown = (check: string, found: string, remedy?: string): Finding => ({
  ...failed(check, found, remedy),
  verdict: "unknown",
});
export const skipped = (check: string, found: string): Finding => ({
  check,
  verdict: "skipped",
  found,
});
export const failed = (check: string, found: string, remedy?: string): Finding => ({
  check,
  verdict: "failed",
  found,
  remedy,
});
export const warning = (check: string, found: string, remedy?: string): Finding => ({
  ...failed(check, found, remedy),
  verdict: "warning",
});

/** Whether the object is ready, and nothing prevents progress. Pure. */
export function judgeReadiness(object: AnyObject): Finding {
  const check = nameOf(object);
  const report = reportOf(object);
  if (report === undefined) return ok(check, readinessOf(object).reason);
  const { ready, reason, message } = report;
  const judge = ready === "True" ? warning : failed;
  return judge(check, `${reason}: ${message}`, `kubectl iam explain ${reason}`);
}

const styles: Readonly<Record<Finding["verdict"], Style>> = {
  ok: "good",
  warning: "warning",
  failed: "bad",
  unknown: "warning",
  skipped: "dim",
};
const VERDICT_WIDTH = 9;

/** Pure. One paragraph for each finding, with its remedy below. */
export function renderFindings(findings: readonly Finding[], { width, paint }: Screen): string {
  const checkWidth = Math.max(...findings.map(({ check }) => check.length)) + 2;
  const indent = " ".repeat(VERDICT_WIDTH + checkWidth);
  const room = width && width - indent.length;
  return findings
    .flatMap(({ check, verdict, found, remedy }) => {
      const [first = "", ...rest] = wrap(clean(found), room);
      const head = `${paint(styles[verdict], verdict)}${" ".repeat(VERDICT_WIDTH - verdict.length)}`;
      const todo = (remedy ?? "").split("\n").filter((line) => line !== "");
      const below = [
        ...rest,
        ...todo.flatMap((line, index) => wrap(`${index === 0 ? "→" : " "} ${line}`, room)),
      ];
      return [`${head}${check.padEnd(checkWidth)}${first}`, ...below.map((line) => indent + line)];
    })
    .join("\n");
}
