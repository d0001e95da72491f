import type { Readiness } from "../../api/conditions.ts";
import type { IamServiceAccount } from "../../iam/model.ts";
import type { Instant } from "../../util/time.ts";

/** What is kept about an object between passes; losing it costs a call, never correctness. */
export interface Memory {
  readonly uid: string;
  /** Generation and time of the next look at the console; absent where one is due now. */
  observed?: {
    readonly generation: number;
    /** Before the console was asked: a key that came later may be missing from the answer. */
    readonly startTime: Instant;
    readonly nextAt: Instant;
    /** What was found instead of a usable account; holds until the next look. */
    readonly finding?: Readiness;
  };
  /** An answer of call 2 whose status may not have been written. */
  created?: { readonly attempt: string; readonly account: IamServiceAccount } | undefined;
  /** Since when the console could not be used to clean up. */
  failingSince?: Instant | undefined;
}
