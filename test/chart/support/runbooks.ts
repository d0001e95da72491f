/** What to do about each alert: the part of docs/alerts.md that no rule holds. */
export interface Runbook {
  readonly look: string;
  readonly fix: string;
}

const describeKey = "kubectl describe iamkey NAME -n NAMESPACE";
const operatorLogs =
  "kubectl logs -n iam-operator-system -l app.kubernetes.io/name=iam-operator --prefix --tail=200";
const byReason =
  "Find the condition's reason in [troubleshooting](troubleshooting.md) and do what it says.";

export const runbooks: Readonly<Record<string, Runbook>> = {
  IAMApiKeyExpiresSoon: {
    look: describeKey,
    fix: `${byReason} Once the cause is gone, the key is renewed without further help.`,
  },
  IAMApiKeyExpiresNow: {
    look: describeKey,
    fix: `${byReason} If there is no time left, issue a key at the console by hand and give it to the workload in a Secret of its own.`,
  },
  IAMApiKeyNotRotating: {
    look: describeKey,
    fix: "If `spec.suspend` is set, decide whether it still has to be. If the key waits for a window, check that `spec.rotation.windows` opens often enough. Otherwise find the reason in [troubleshooting](troubleshooting.md).",
  },
  IAMApiKeyNotReady: {
    look: describeKey,
    fix: byReason,
  },
  IAMKeyIssuanceBlocked: {
    look: 'kubectl get iamkey NAME -n NAMESPACE -o jsonpath=\'{.status.issuances}{"\\n"}{.status.orphaned}{"\\n"}\'',
    fix: "Find out why keys are lost: the events of the ApiKey name each attempt. Then either wait for the day to pass, raise `spec.maxIssuesPerDay`, or ask for one more key with the annotation `iam-operator.io/rotate-requested-at`.",
  },
  IAMKeyIssuanceFailing: {
    look: "kubectl get events -A --field-selector type=Warning | grep ApiKey",
    fix: "`Refused`: the console says why in the event. `Unknown`: answers get lost on the way; look at the network and at proxies between the operator and the console.",
  },
  IAMOrphanedKeys: {
    look: "kubectl get iamkey NAME -n NAMESPACE -o jsonpath='{.status.orphaned}'",
    fix: "Disable the listed keys at the console. They leave the status a day after they expire.",
  },
  IAMUnmanagedKeys: {
    look: "kubectl get iamsa NAME -n NAMESPACE -o jsonpath='{.status.unmanagedKeys}'",
    fix: "Find out who issued the keys: an administrator, a deleted ApiKey, or a call that took effect late. Delete the keys that nobody needs in the console. If keys are issued outside the operator on purpose, set `spec.unmanagedKeys: Expect` of the ServiceAccount. An entry with `apiKey` goes to `status.orphaned` of that ApiKey unless the ApiKey is suspended.",
  },
  IAMOrphanedAccounts: {
    look: "kubectl get iamsa NAME -n NAMESPACE -o jsonpath='{.status.orphanedAccounts}'",
    fix: "Check in the console that the listed accounts have no policies and no keys that anything uses, then delete them there. The next list, within an hour or after `kubectl iam reconcile`, clears the status.",
  },
  IAMStaleConsumers: {
    look: "kubectl get iamkey NAME -n NAMESPACE -o jsonpath='{.status.conditions[?(@.type==\"ConsumersCurrent\")].message}'",
    fix: "Restart the workloads of the named Pods, or let the operator do it: `spec.rollout` together with `consumers.mode: restart`.",
  },
  IAMConnectionDown: {
    look: "kubectl describe iamcconn NAME; kubectl describe iamconn NAME -n NAMESPACE",
    fix: byReason,
  },
  IAMLoginRefused: {
    look: "kubectl get iamcconn; kubectl get iamconn -A",
    fix: "Correct the password in the credentials Secret; the operator logs in again within 15 seconds. `mfaRequired`: give it an account without a second factor. After three refused logins it pauses, so that it cannot lock the account.",
  },
  IAMObjectNotReady: {
    look: "kubectl describe iamsa NAME -n NAMESPACE; kubectl describe iampb NAME -n NAMESPACE",
    fix: byReason,
  },
  IAMQuotaStale: {
    look: "kubectl describe iamrq EXPORT -n EXPORT_NAMESPACE",
    fix: `${byReason} If it is Ready, its \`spec.interval\` is longer than the alert's threshold: raise \`metrics.prometheusRule.quotaStaleAfterMinutes\`.`,
  },
  IAMQuotaExportFailing: {
    look: "kubectl describe iamrq NAME -n NAMESPACE",
    fix: byReason,
  },
  IAMOperatorAbsent: {
    look: "kubectl get pods,leases -n iam-operator-system",
    fix: "If no Pod runs, `kubectl describe pod` says why. If Pods run and one holds the lease, Prometheus does not scrape it: check the ServiceMonitor, the NetworkPolicy and, with `metrics.secure.enabled`, the scraper's permission.",
  },
  IAMOperatorErrors: {
    look: operatorLogs,
    fix: "Errors of the console or the API server pass by themselves. A line at level `error` with a stack is a bug: please report it.",
  },
  IAMOperatorNotSynced: {
    look: operatorLogs,
    fix: "Usually a missing permission or CRD, which the log names. `helm upgrade` restores both.",
  },
  IAMOperatorWatchStuck: {
    look: operatorLogs,
    fix: "Look at the API server's health and at proxies before it that end long requests.",
  },
  IAMOperatorQueueStuck: {
    look: operatorLogs,
    fix: "If the console is slow, allow more calls in the connection's `spec.limits` and raise `concurrency`. If it is fast, a reconcile hangs: keep the log, report it, and restart the Pod.",
  },
};
