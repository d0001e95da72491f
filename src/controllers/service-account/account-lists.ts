/** When all accounts of a connection were last listed, and one was last created. */
import type { Instant } from "../../util/time.ts";
import { isAuditDue } from "./rules/look.ts";
import type { ListTimes } from "./rules/snapshot.ts";

/** One list serves all objects of a connection. Losing the times costs a list. */
export class AccountLists {
  readonly #byConnection = new Map<string, ListTimes>();

  /** Of a connection that this process has not seen before, an earlier process may just have created an account. */
  of(connection: string, now: Instant): ListTimes {
    const known = this.#byConnection.get(connection);
    if (known !== undefined) return known;
    const first = { creationTime: now, listTime: now };
    this.#byConnection.set(connection, first);
    return first;
  }

  noteCreation(connection: string, now: Instant): void {
    this.#byConnection.set(connection, { ...this.of(connection, now), creationTime: now });
  }

  noteList(connection: string, now: Instant): void {
    this.#byConnection.set(connection, { ...this.of(connection, now), listTime: now });
  }

  /** Whether the audit is still due and the caller is to make it. */
  beginAudit(connection: string, now: Instant, isRequested: boolean): boolean {
    const isDue = isAuditDue(this.of(connection, now), now, isRequested);
    if (isDue) this.noteList(connection, now);
    return isDue;
  }

  /** The audit is due again as after a creation. */
  noteFailedAudit(connection: string, now: Instant): void {
    this.noteCreation(connection, now);
  }
}
