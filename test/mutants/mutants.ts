/** Seeded bugs. `npm run mutants` proves that tests notice each of them. */
import { accountMutants } from "./account.ts";
import { apiKeyMutants } from "./api-key.ts";
import { clusterMutants } from "./cluster.ts";
import { consoleMutants } from "./console.ts";
import { consumerMutants } from "./consumers.ts";
import type { Mutant } from "./mutant.ts";

export const mutants: readonly Mutant[] = [
  ...apiKeyMutants,
  ...consoleMutants,
  ...accountMutants,
  ...clusterMutants,
  ...consumerMutants,
];
