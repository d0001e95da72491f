import type { PlannedCall } from "../../../api/plan.ts";

/** The planned calls and effects so far. */
export class PlanLog {
  #calls: readonly PlannedCall[] = [];
  #hasEffects = false;

  /** In the order of the calls. */
  get calls(): readonly PlannedCall[] {
    return this.#calls;
  }

  /** Whether the plan would write anything so far, even if only to one of the operator's own objects. */
  get hasEffects(): boolean {
    return this.#hasEffects;
  }

  /** Notes a write that is only the operator's own bookkeeping. */
  noteEffect(): void {
    this.#hasEffects = true;
  }

  add(call: PlannedCall): void {
    this.#hasEffects = true;
    this.#calls = [...this.#calls, call];
  }

  /** One entry per Secret, no matter how often the plan writes it. */
  writeSecret(name: string): void {
    this.noteEffect();
    if (this.#of("writeSecret", name) !== undefined) return;
    this.add({ call: "writeSecret", object: name, message: `Writes Secret ${name}.` });
  }

  /** Removes the entry of the Secret's write; a Secret that exists only in the plan gets no entry for its deletion. */
  deleteSecret(name: string, isStored: boolean): void {
    this.noteEffect();
    const write = this.#of("writeSecret", name);
    this.#calls = this.#calls.filter((call) => call !== write);
    if (isStored)
      this.add({ call: "deleteSecret", object: name, message: `Deletes Secret ${name}.` });
  }

  #of(name: string, object: string): PlannedCall | undefined {
    return this.#calls.find((call) => call.call === name && call.object === object);
  }
}
