/** One part of a bundle. */
export interface File {
  readonly name: string;
  readonly text: string;
  /** Why there is nothing of it. */
  readonly missing?: string;
}
