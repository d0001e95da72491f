/** Names of accounts that are being created: a list that was begun before does not show them. */
import { type Instant, MINUTE } from "../../util/time.ts";

/** No list takes longer, and no creation. */
const REMEMBERED_MS = 5 * MINUTE;

interface Creation {
  readonly uid: string;
  readonly startTime: Instant;
  readonly endTime?: Instant;
}

/** Two objects can have one name: in this process, the second creation is decided on a list begun after the first. */
export class NamesInCreation {
  readonly #creations = new Map<string, Creation>();

  /** Whether the list shows every account of the name that this process has created; if so, another creation begins. */
  begin(name: string, uid: string, listTime: Instant, now: Instant): boolean {
    this.#forgetOld(now);
    const last = this.#creations.get(name);
    const isShown =
      last === undefined ||
      last.uid === uid ||
      (last.endTime !== undefined && last.endTime < listTime);
    if (isShown) this.#creations.set(name, { uid, startTime: now });
    return isShown;
  }

  end(name: string, now: Instant): void {
    const last = this.#creations.get(name);
    if (last !== undefined) this.#creations.set(name, { ...last, endTime: now });
  }

  #forgetOld(now: Instant): void {
    for (const [name, { startTime }] of this.#creations)
      if (Math.abs(now - startTime) > REMEMBERED_MS) this.#creations.delete(name);
  }
}
