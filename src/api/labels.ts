/** Labels in specs, and label selectors. */
import * as z from "zod";
import { entries } from "./fields.ts";
import { atomic, setOf } from "./lists.ts";
import { matching, withRule } from "./rule.ts";

const LABEL_KEY =
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?[/])?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;
export const MOST_IN_KEY = 317;

/** Whether the key is valid for a label or an annotation. */
export function isMetadataKey(key: string): boolean {
  return LABEL_KEY.test(key) && key.length <= MOST_IN_KEY;
}

export const labelValue = matching(
  z.string().max(63),
  /^([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?$/,
  "must be a label's value: letters, digits, '-', '_' and '.', or nothing",
);

const expression = withRule(
  z.object({
    key: matching(
      z.string().max(MOST_IN_KEY),
      LABEL_KEY,
      "must be a label's key, such as team or example.com/team",
    ).meta({ description: "The label's key." }),
    operator: z
      .enum(["In", "NotIn", "Exists", "DoesNotExist"])
      .meta({ description: "How the label is compared." }),
    values: setOf(labelValue, 16)
      .optional()
      .meta({ description: "For In and NotIn: the label's values, 1 to 16." }),
  }),
  {
    field: "values",
    rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    message: "must be there with In and NotIn, and only with them",
    holds: ({ operator, values = [] }) =>
      (operator === "In" || operator === "NotIn") === values.length > 0,
  },
).meta({ description: "A requirement on a label." });

/** Limits the length of a map's keys, which no other CRD keyword does. */
export function boundedKeys<Schema extends z.ZodType<Record<string, unknown>>>(
  map: Schema,
  most: number,
): Schema {
  return withRule(map, {
    rule: `self.all(key, size(key) <= ${most})`,
    message: `must have keys of at most ${most} characters`,
    holds: (entries) => Object.keys(entries).every((key) => key.length <= most),
  });
}

/** As in all of Kubernetes, all conditions must match, and a selector without conditions selects everything. */
export const labelSelector = z.object({
  matchLabels: boundedKeys(entries(z.record(z.string(), labelValue), 32), MOST_IN_KEY)
    .refine((labels) => Object.keys(labels).every(isMetadataKey), {
      error: "must have keys such as team or example.com/team",
    })
    .optional()
    .meta({ description: "Labels and their values, at most 32." }),
  matchExpressions: atomic(expression, 16)
    .optional()
    .meta({ description: "Further conditions on labels, at most 16." }),
});

/** A selector with at least one condition: a grant must not apply to all namespaces because a field was omitted. */
export const nonEmptyLabelSelector = withRule(labelSelector, {
  rule: "(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
  message:
    "must have matchLabels or matchExpressions: an empty selector would select every namespace; write all: true instead",
  holds: ({ matchLabels = {}, matchExpressions = [] }) =>
    Object.keys(matchLabels).length > 0 || matchExpressions.length > 0,
});
