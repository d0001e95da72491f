/** A seeded bug: a small change of the text of one file. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Found exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The smallest suites that could notice; of the project `unit` unless `project` says otherwise. */
  readonly tests: readonly string[];
  readonly project?: string;
}
