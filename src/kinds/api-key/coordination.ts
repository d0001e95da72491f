/** State of the process that spans ApiKeys. */
import type { NamespaceIssues } from "./namespace-issues.ts";
import type { HeldPair } from "./rules/snapshot.ts";

export interface IssueCoordination {
  readonly namespaceIssues: NamespaceIssues;
  /** New pairs by ApiKey uid. Until a pair is written, it exists only here, even if its ApiKey seems to be deleted. */
  readonly heldPairs: Map<string, HeldPair>;
}
