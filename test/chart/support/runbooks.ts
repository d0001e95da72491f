/** What to do about each alert: the part of docs/alerts.md that no rule holds. */
export interface Runbook {
  /** Absent: the command of the alert's group. */
  readonly look?: string;
  /** Absent: the condition's reason is enough. */
  readonly fix?: string;
}

export const runbooks: Readonly<Record<string, Runbook>> = {
  IAMApiKeyExpiresSoon: {
    fix: "Once the cause is fixed, the key is renewed.",
  },
  IAMApiKeyExpiresNow: {
    fix: "If no time is left, issue a key in the console, and give it to the workload in another Secret.",
  },
  IAMApiKeyNotRotating: {
    fix: "Check `spec.suspend`, and whether `spec.rotation.windows` opens often enough. Otherwise see [nothing rotates](incidents.md#nothing-rotates).",
  },
  IAMApiKeyNotReady: {},
  IAMKeyIssuanceBlocked: {
    look: 'kubectl get iamkey NAME -n NAMESPACE -o jsonpath=\'{.status.recentIssues}{"\\n"}{.status.orphaned}{"\\n"}\'',
    fix: "Find out why keys are lost: the events of the ApiKey name each attempt. Then either wait for the day to pass, raise `spec.maxIssuesPerDay`, or ask for one more key with the annotation `iam-operator.io/rotate-requested-at`.",
  },
  IAMKeyIssuanceFailing: {
    look: "kubectl get events -A --field-selector type=Warning | grep ApiKey",
    fix: "`NotCommitted`: no key was issued; the event quotes the console or the failure. `Unknown`: the call got no usable answer; check the network and the proxies between the operator and the console.",
  },
  IAMOrphanedKeys: {
    look: "kubectl get iamkey NAME -n NAMESPACE -o jsonpath='{.status.orphaned}'",
    fix: "Delete the listed keys in the console. Then remove each key from the list, or the alert keeps firing until it expires: `kubectl iam forget-orphan NAME KEY-ID -n NAMESPACE`.",
  },
  IAMUnmanagedKeys: {
    look: "kubectl get iamsa NAME -n NAMESPACE -o jsonpath='{.status.unmanagedKeys}'",
    fix: "Find out who issued the keys: an administrator, a deleted ApiKey, or a call that took effect late. Delete unused keys in the console. If keys are issued outside the operator on purpose, set `spec.unmanagedKeys: Expect` of the ServiceAccount.",
  },
  IAMOrphanedAccounts: {
    look: "kubectl get iamsa NAME -n NAMESPACE -o jsonpath='{.status.orphanedAccounts}'",
    fix: "Check in the console that nothing uses their policies and keys, then delete them there. `kubectl iam reconcile` clears the status.",
  },
  IAMStaleConsumers: {
    look: "kubectl get iamkey NAME -n NAMESPACE -o jsonpath='{.status.conditions[?(@.type==\"ConsumersCurrent\")].message}'",
    fix: "Restart the workloads of the named Pods, or let the operator do it: `spec.rollout` together with `consumers.mode: restart`.",
  },
  IAMConnectionDown: {
    look: "kubectl describe iamcconn NAME; kubectl describe iamconn NAME -n NAMESPACE",
  },
  IAMLoginRefused: {
    look: "kubectl get iamcconn; kubectl get iamconn -A",
    fix: "Correct the password in the credentials Secret; the operator logs in again within 15 seconds. `mfaRequired`: use a user without a second factor.",
  },
  IAMObjectNotReady: {
    look: "kubectl describe iamsa NAME -n NAMESPACE; kubectl describe iampb NAME -n NAMESPACE",
  },
  IAMQuotaStale: {
    look: "kubectl describe iamrq EXPORT -n EXPORT_NAMESPACE",
    fix: "If it is Ready, its `spec.interval` is longer than the alert's threshold: raise `metrics.prometheusRule.quotaStaleAfterMinutes`.",
  },
  IAMQuotaExportFailing: {
    look: "kubectl describe iamrq NAME -n NAMESPACE",
  },
  IAMOperatorAbsent: {
    look: "kubectl get pods,leases -n iam-operator-system",
    fix: "[The operator is down](incidents.md#the-operator-is-down). If Pods run and one holds the lease, Prometheus does not scrape it: check the ServiceMonitor, the NetworkPolicy and, with `metrics.secure.enabled`, the scraper's permission.",
  },
  IAMOperatorErrors: {
    fix: "Errors of the console or the API server are retried. A line at level `error` with a stack is a bug: please report it.",
  },
  IAMOperatorNotSynced: {
    fix: "Usually a missing permission or CRD, which the log names. `helm upgrade` restores both.",
  },
  IAMOperatorWatchStuck: {
    fix: "Check the API server, and proxies before it that end long requests.",
  },
  IAMOperatorQueueStuck: {
    fix: "If the console is slow, raise the connection's `spec.limits` and `concurrency`. If it is fast, keep the log, report a bug, and restart the Pod.",
  },
};
