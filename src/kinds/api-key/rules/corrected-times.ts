/** Corrects times that an operator with a clock ahead of all others has stored. Pure. */
import { type AgreedTime, correctedTime } from "../../../util/agreed-time.ts";
import type { Instant } from "../../../util/time.ts";
import type { KeyStatus } from "./status.ts";

interface Life {
  readonly issueTime: Instant;
  readonly expirationTime: Instant;
}

/** The status without times in the future, except expiries, which move with the start of what expires. */
export function withCorrectedTimes(status: KeyStatus, at: AgreedTime): KeyStatus {
  const { current, attempt, recentIssues } = status;
  return {
    ...status,
    current: current && {
      ...correctedLife(current, at),
      verificationTime: correctedTime(current.verificationTime, at),
    },
    attempt: attempt && { ...attempt, startTime: correctedTime(attempt.startTime, at) },
    superseded: status.superseded.map((key) => ({
      ...correctedLife(key, at),
      supersededTime: correctedTime(key.supersededTime, at),
      stateTime: correctedTime(key.stateTime, at),
    })),
    orphaned: status.orphaned.map((key) => {
      const observedTime = correctedTime(key.observedTime, at);
      const expirationTime = key.expirationTime - (key.observedTime - observedTime);
      return { ...key, observedTime, expirationTime };
    }),
    recentIssues: recentIssues.map((issue) => ({ ...issue, time: correctedTime(issue.time, at) })),
    lastRecoveryTime: correctedTime(status.lastRecoveryTime, at),
  };
}

/** A key expires after its lifetime, which no clock has changed. */
function correctedLife<Key extends Life>(key: Key, at: AgreedTime): Key {
  const issueTime = correctedTime(key.issueTime, at);
  return { ...key, issueTime, expirationTime: key.expirationTime - (key.issueTime - issueTime) };
}
