/** One part of a bundle. */
export interface File {
  readonly name: string;
  readonly text: string;
  /** Why the part could not be read. */
  readonly missing?: string;
}
