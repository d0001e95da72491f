/** [S9] A Secret that exists is changed or deleted only as the operator has seen it. */
import type { CreateWatcher } from "./watcher.ts";

/** Each of them reaches whatever has the name now. */
const CHANGES = /^(patch|update|replace|apply|delete) secrets$/;

export const preconditions: CreateWatcher = () => ({
  onCall: ({ operation, target, isConditional }) =>
    CHANGES.test(operation) && !isConditional
      ? `${operation} ${target} names neither uid nor resourceVersion`
      : undefined,
});
