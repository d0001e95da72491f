import { ownEntry } from "../util/own-entry.ts";
import type { LabelSelector } from "./resource-types.ts";

type Labels = Readonly<Record<string, string>>;
type Expression = NonNullable<LabelSelector["matchExpressions"]>[number];

/** Whether the labels match a metav1.LabelSelector. An unknown operator matches nothing. */
export function matchesLabels(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Labels,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => ownEntry(labels, key) === value) &&
    matchExpressions.every((expression) => holds(expression, labels))
  );
}

function holds({ key, operator, values = [] }: Expression, labels: Labels): boolean {
  const value = ownEntry(labels, key);
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

/** The selector in the form of a list query: `team=a,tier in (x,y),!legacy`. */
export function labelSelectorText({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...equal, ...matchExpressions.map(expressionText)].join(",");
}

function expressionText({ key, operator, values = [] }: Expression): string {
  switch (operator) {
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return `${key} ${operator.toLowerCase()} (${values.join(",")})`;
  }
}
