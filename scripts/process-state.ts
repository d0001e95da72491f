/**
 * Every map, set and list below src/ that outlives a run, with what bounds it. What the process keeps of answers and of
 * tenants' texts goes through `TenantMemory`; the others hold names, versions, counts and times. Checked by
 * scripts/check-state.ts.
 */

/** By file and name; `Class.field` for a field. */
export const processState: Readonly<Record<string, string>> = {
  // Texts of tenants and answers of consoles
  "util/tenant-memory.ts TenantMemory.#uses": "1 MiB for each namespace, 16 MiB in all",
  "util/tenant-memory.ts TenantValues.#entries": "as TenantMemory",
  "http/pending-answer.ts PendingAnswer.#chunks": "the bytes that ResponseMemoryLimiter granted",
  "kube/watch/collection.ts Collection.#objects":
    "what is kept of a stored object (largest size) each",
  "kube/store/memory-store.ts MemoryStore.#objects": "what is kept of a stored object each",
  "kube/store/store-index.ts StoreIndex.#found": "a few values for each stored object",
  "kube/watch/string-pool.ts StringPool.#strings": "MOST_STRINGS short texts",
  "app/watched-secrets.ts WatchedSecrets.#held":
    "changes during a write of a Secret that is under way",
  "kube/events/event-queue.ts EventQueue.#waiting": "the capacity, shared by namespaces",
  "kube/events/event-series.ts EventCorrelator.#objects": "the least recently used go",
  "observability/standard-output.ts StandardOutput.#lines":
    "a number of bytes; further lines are counted",
  "consumers/namespace-pods.ts NamespacePods.#running":
    "one list of Pods for each namespace, while it is read",
  "consumers/namespace-pods.ts NamespacePods.#next": "as #running",
  "kinds/quota-export/published-quotas.ts PublishedQuotas.#listings":
    "--quota-series for all exports; a hash for each export",

  // One small entry for each stored object, dropped with it
  "reconciler/process-state.ts ProcessState.#uids": "a uid for each stored object",
  "reconciler/unanswered-statuses.ts UnansweredStatuses.#givenUp": "a time for each stored object",
  "reconciler/released-views.ts ReleasedViews.#views": "a version for each stored object",
  "consumers/board.ts ConsumersBoard.#known": "two counts for each ApiKey",
  "kinds/connection/certificate-shares.ts CertificateShares.#byConnection":
    "the share of a connection; contexts are shared by content",
  "kinds/service-account/account-lists.ts AccountLists.#byConnection":
    "two times for each connection that exists and is used",
  "kinds/service-account/names-in-creation.ts NamesInCreation.#creations":
    "a name for each creation within five minutes",
  "kinds/service-account/marked-accounts.ts MarkedAccounts.#listed":
    "names of stored ServiceAccounts of the connection",
  "app/watched-secrets.ts WatchedSecrets.#ownWrites": "a version for each stored Secret",
  "kube/store/store-scope.ts StoreScope.#marks": "own writes that no watch has shown yet",
  "observability/series-gauge.ts SeriesGauge.#series": "a series for each stored object",
  "runtime/work-queue.ts WorkQueue.#entries": "a key for each stored object",
  "runtime/work-queue.ts WorkQueue.#holds": "a time for each key",
  "runtime/retries.ts Retries.#failures": "a count for each key that fails",
  "runtime/controller.ts RunningController.#stale": "keys that wait for an own write",
  "runtime/heap.ts Heap.#items": "the entries of its queue",
  "runtime/heap.ts Heap.#index": "the entries of its queue",
  "runtime/group-queue.ts GroupQueue.#items": "keys that are ready",
  "runtime/group-queue.ts GroupQueue.#came": "twice the keys that are ready",
  "runtime/fair-queue.ts FairQueue.#queues": "resources with keys that are ready",

  // A constant number
  "util/time.ts written": "MOST_WRITTEN",
  "util/cron.ts parsed": "CAPACITY; the oldest goes",
  "kinds/api-key/namespace-issues.ts NamespaceIssues.#batches": "MOST_COUNTED namespaces",
  "kinds/api-key/deleted-issues.ts DeletedIssues.#issues":
    "a count for each hour of a day and namespace",
  "runtime/slow-groups.ts SlowGroups.#slow": "MAX_KEPT; the oldest goes",
  "util/first-names.ts FirstNames.#names": "100 namespaces, or pairs of kind and namespace",

  // What is under way, and what the process itself is made of
  "util/semaphore.ts Semaphore.#waiting": "calls that wait, each in a run",
  "http/response-memory-limiter.ts ResponseMemoryLimiter.#waiting":
    "answers that wait, each in a run",
  "http/response-memory-limiter.ts ResponseMemoryLimiter.#granted": "answers under way",
  "http/response-memory-limiter.ts ResponseMemoryLimiter.#turns": "owners of answers under way",
  "http/tls-settings.ts contexts": "contexts in use, by content",
  "console/session/login-circuits.ts LoginCircuits.#shared": "logins of connections in use",
  "console/session/token-checks.ts TokenChecks.#running": "checks under way",
  "reconciler/run-sessions.ts RunSessions.#clients": "clients of one run",
  "runtime/running-keys.ts RunningKeys.#running": "runs under way: the workers",
  "runtime/running-keys.ts RunningKeys.#byResource": "runs under way: the workers",
  "runtime/work-queue.ts WorkQueue.#takers": "the workers",
  "runtime/work-queue.ts WorkQueue.#idlers": "who waits for the end",
  "runtime/controller.ts RunningController.#stops": "what a stop ends",
  "kube/store/memory-store.ts MemoryStore.#scopes": "namespaces of --namespaces, or one",
  "kube/store/memory-store.ts MemoryStore.#listeners": "listeners of the program",
  "app/watched-secrets.ts WatchedSecrets.#heardAt": "namespaces of --namespaces, or one",
  "app/watched-secrets.ts WatchedSecrets.#listeners": "listeners of the program",
  "app/plan/hypothetical-cluster.ts HypotheticalObjects.#objects": "objects of a command line",
  "app/plan/known-connections.ts KnownConnections.#doubts": "connections of a command line",
};
