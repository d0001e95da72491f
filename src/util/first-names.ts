const MOST = 100;

/** The first 100 names that are seen. A metric labels only these, so that its series stay few. */
export class FirstNames {
  readonly #names = new Set<string>();

  has(name: string): boolean {
    if (this.#names.size < MOST) this.#names.add(name);
    return this.#names.has(name);
  }
}
