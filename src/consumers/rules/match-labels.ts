import type { LabelSelector } from "../../kube/resource-types.ts";

type PodLabels = Readonly<Record<string, string>>;

/** Whether labels are those that a metav1.LabelSelector asks for. An unknown operator matches nothing. */
export function matchesLabels(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: PodLabels,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((expression) => holds(expression, labels))
  );
}

type Expression = NonNullable<LabelSelector["matchExpressions"]>[number];

function holds({ key, operator, values = [] }: Expression, labels: PodLabels): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}
