/** What the bound policies allow for an action, as far as the console shows their statements. Pure. */
import type { PolicyRecord, Statement } from "../console/policy-records.ts";
import { type Finding, failed, ok, skipped, unknown, warning } from "./finding.ts";

/** A finding for each relevant policy, and a finding for all policies together. */
export function judgePolicies(
  check: string,
  bound: readonly string[],
  records: readonly PolicyRecord[],
  action: string | undefined,
): readonly Finding[] {
  const own = bound.map((policyId) => {
    const record = records.find((each) => each.policyId === policyId);
    const { statements, otherStatus } = record ?? {};
    // What such a policy allows is not documented.
    return {
      policyId,
      otherStatus,
      statements: otherStatus === undefined ? statements : undefined,
    };
  });
  const each = own.map(({ policyId, statements, otherStatus }) =>
    otherStatus !== undefined
      ? warning(
          check,
          `${policyId}: the console lists it as ${otherStatus}`,
          "Bind an active policy.",
        )
      : statements === undefined
        ? skipped(check, `${policyId}: the console does not show its statements`)
        : ok(check, `${policyId}: ${describe(statements, action)}`),
  );
  if (action === undefined || bound.length === 0) return each;
  const relevant = own.flatMap(({ statements = [] }) => statements).filter(covers(action));
  const isWhole = own.every(({ statements }) => statements !== undefined);
  return [...each, sum(check, relevant, action, isWhole)];
}

function sum(
  check: string,
  relevant: readonly Statement[],
  action: string,
  isWhole: boolean,
): Finding {
  if (relevant.some(({ effect }) => effect === "Deny"))
    return failed(
      check,
      `a bound policy denies ${action}; a Deny overrides every Allow`,
      "Take that policy away, or have it changed.",
    );
  const isAllowed = relevant.length > 0;
  if (!isWhole)
    return unknown(
      check,
      isAllowed
        ? `${action} is allowed, unless a policy that cannot be read denies it`
        : `no policy that can be read allows ${action}`,
    );
  if (isAllowed) return ok(check, `${action} is allowed, and not denied`);
  return failed(
    check,
    `no bound policy allows ${action}`,
    "Bind a policy that does: kubectl iam console policies -o wide",
  );
}

function describe(statements: readonly Statement[], action: string | undefined): string {
  const shown = action === undefined ? statements : statements.filter(covers(action));
  if (shown.length === 0) return `does not mention ${action}`;
  return shown
    .map(({ effect, actions }) =>
      action === undefined
        ? `${effect} ${actions.join(", ")}`
        : `${effect} by ${actions.filter(matching(action)).join(", ")}`,
    )
    .join("; ");
}

const covers =
  (action: string) =>
  ({ actions }: Statement): boolean =>
    actions.some(matching(action));

/** A category wildcard ends in `.*`. */
const matching =
  (action: string) =>
  (pattern: string): boolean =>
    pattern === action || (pattern.endsWith(".*") && action.startsWith(pattern.slice(0, -1)));

/** Whether the header's partition matches the patterns of the allowing statements: `trn:<partition>:…`. */
export function judgePartition(
  check: string,
  bound: readonly string[],
  records: readonly PolicyRecord[],
  partitionId: string | undefined,
): Finding {
  const patterns = records
    .filter(({ policyId }) => policyId !== undefined && bound.includes(policyId))
    .flatMap(({ statements = [] }) => statements)
    .filter(({ effect }) => effect === "Allow")
    .flatMap(({ resources }) => resources.map((resource) => resource.split(":")[1] ?? ""));
  const partitions = [...new Set(patterns)];
  if (partitions.length === 0)
    return unknown(check, "no resource patterns can be read, so the partition is not compared");
  if (partitions.includes("*")) return ok(check, "the policies hold for every partition");
  const wanted = partitions.join(", ");
  if (partitionId === undefined)
    return failed(
      check,
      `the policies apply only to ${wanted}, and the connection does not send X-Partition-Id`,
      "Send X-Partition-Id; for the operator set spec.partitionId of the connection.",
    );
  return partitions.includes(partitionId)
    ? ok(check, `X-Partition-Id: the policies apply to ${partitionId}`)
    : failed(check, `X-Partition-Id is ${partitionId}, and the policies apply only to ${wanted}`);
}
