import type { PlannedCall } from "../../../api/plan.ts";

/** What a plan has come to so far. */
export class PlanLog {
  #calls: readonly PlannedCall[] = [];
  #hasEffects = false;

  /** In order. */
  get calls(): readonly PlannedCall[] {
    return this.#calls;
  }

  /** Whether anything would be written by now, be it only to an object of ours. */
  get hasEffects(): boolean {
    return this.#hasEffects;
  }

  /** Something would be written that is the operator's own bookkeeping. */
  noteEffect(): void {
    this.#hasEffects = true;
  }

  add(call: PlannedCall): void {
    this.#hasEffects = true;
    this.#calls = [...this.#calls, call];
  }

  /** One entry a Secret, however often it is written. */
  writeSecret(name: string): void {
    this.noteEffect();
    if (this.#of("writeSecret", name) !== undefined) return;
    this.add({ call: "writeSecret", object: name, message: `Writes Secret ${name}.` });
  }

  /** A Secret that only the plan itself has made is no longer mentioned. */
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
