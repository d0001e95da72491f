/** Reasons that an object of any kind can have. */
import type { Reason } from "./reason.ts";

export const ofAnyObject = {
  InvalidSpec: {
    meaning:
      "The stored object does not match the schema, after an upgrade or by a rule that the API server cannot check, such as whether a schedule ever comes.",
    fix: "Correct the field that the message names. Until then nothing is written for the object; Secrets stay.",
  },
  Suspended: {
    meaning:
      "`spec.suspend` of this object is true: nothing is issued, bound or written for it, and the deletion of an ApiKey or ServiceAccount waits. Other objects continue, such as the ApiKeys of a suspended ServiceAccount.",
    fix: "Set `spec.suspend` to false to resume. The key of a suspended ApiKey is still checked, and still expires: see [ExpiringSoon](#expiringsoon).",
  },
  PlanOnly: {
    meaning:
      "The annotation `iam-operator.io/plan-only` has a value other than `false`, or the operator runs with `--read-only`: it plans and changes nothing. An object in use stays `Ready`.",
    check:
      "`kubectl get iamkey NAME -o jsonpath='{range .status.plan.calls[*]}{.message}{\"\\n\"}{end}'`; of a ServiceAccount, also its PolicyBindings: one object with the annotation holds back all of them.",
    fix: "Read `status.plan`; if it is right, remove the annotation `iam-operator.io/plan-only`, or `--read-only` of the operator.",
    commands: ["kubectl annotate iamkey NAME -n NAMESPACE iam-operator.io/plan-only-"],
  },
  ReconcileTimedOut: {
    meaning:
      "A reconcile took more than two minutes and was stopped. The message has its last error, if there was one.",
    check: "`iam_operator_iam_request_duration_seconds`, and the latency of the API server.",
    fix: "Let the console or the API server answer faster, or let the object need fewer calls: a ResourceQuotaExport can list fewer namespaces. The object is retried.",
  },
  InternalError: {
    meaning: "The operator hit an unexpected error. This is a bug.",
    check: "the operator's log, at the `reconcileId` of the reconcile.",
    fix: "Report the bug with that log. The object is retried every 1 to 15 minutes.",
  },
  ConnectionNotFound: {
    meaning:
      "The connection in `spec.connectionRef` does not exist. A ClusterConnection does not have a namespace; a Connection must be in the object's namespace.",
    fix: "Create the connection, or create the object again with another `spec.connectionRef`. The object is reconciled as soon as the connection exists.",
  },
  ConnectionNotReady: {
    meaning:
      "The connection exists and cannot be used. The message has the connection's reason in brackets, if one is known.",
    fix: "Check the connection's Ready condition: `kubectl iam status iamconn/NAME`, and see [Connections](#connections) for its reason. The object is reconciled as soon as the connection is ready.",
  },
  ConnectionSuspended: {
    meaning:
      "`spec.suspend` of the connection is true, and all objects that use it wait. Keys in Secrets stay valid; they are not rotated.",
    fix: "Set `spec.suspend` of the connection to false to resume, for example with `kubectl iam resume iamcconn/NAME`.",
  },
  NotGranted: {
    meaning:
      "No grant of the ClusterConnection matches the namespace, or the grant does not allow this, such as importing an account.",
    check:
      "`kubectl get iamcconn NAME -o yaml`, `spec.grants`, and `kubectl get namespace NAMESPACE --show-labels`.",
    fix: "Ask the administrator of the ClusterConnection for a grant to this namespace. See [multi-tenancy](multi-tenancy.md).",
  },
} as const satisfies Record<string, Reason>;
