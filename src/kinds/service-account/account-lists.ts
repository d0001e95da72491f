/** By connection: when all accounts were last listed, and when an account was last created. */
import type { Instant } from "../../util/time.ts";
import { isAuditDue } from "./rules/read-schedule.ts";
import type { ListTimes } from "./rules/snapshot.ts";

const FIRST: ListTimes = {
  creationTime: Number.POSITIVE_INFINITY,
  listTime: Number.POSITIVE_INFINITY,
};

/** One list serves all objects of a connection. Losing the times costs one list call. */
export class AccountLists {
  readonly #byConnection = new Map<string, ListTimes>();

  /**
   * A connection that is new to this process counts as used just now: an earlier process may have just created an
   * account.
   */
  of(connection: string, now: Instant): ListTimes {
    const { creationTime, listTime } = this.#byConnection.get(connection) ?? FIRST;
    // The clock may have been set back.
    const times = {
      creationTime: Math.min(creationTime, now),
      listTime: Math.min(listTime, now),
    };
    this.#byConnection.set(connection, times);
    return times;
  }

  forget(connection: string): void {
    this.#byConnection.delete(connection);
  }

  noteCreation(connection: string, now: Instant): void {
    this.#byConnection.set(connection, { ...this.of(connection, now), creationTime: now });
  }

  noteList(connection: string, now: Instant): void {
    this.#byConnection.set(connection, { ...this.of(connection, now), listTime: now });
  }

  /** Whether the audit is still due. If it is, the caller must make it, and it counts as made. */
  beginAudit(connection: string, now: Instant, isRequested: boolean): boolean {
    const isDue = isAuditDue(this.of(connection, now), now, isRequested);
    if (isDue) this.noteList(connection, now);
    return isDue;
  }

  /** Makes the audit due again, as after a creation. */
  noteFailedAudit(connection: string, now: Instant): void {
    this.noteCreation(connection, now);
  }
}
