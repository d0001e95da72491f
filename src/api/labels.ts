/** Labels as specs write them, and the selectors over them. */
import * as z from "zod";
import { entries } from "./fields.ts";
import { atomic, setOf } from "./lists.ts";
import { matching, withRule } from "./rule.ts";

const LABEL_KEY =
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?[/])?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;
export const MOST_IN_KEY = 317;

/** Whether a label or an annotation may have this key. */
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

/** Bounds the keys of a map, which no other keyword of a CRD does. */
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

/** As everywhere in Kubernetes, all conditions have to hold, and a selector without any selects everything. */
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

/** A selector that selects by something: what gives rights must not give them to everybody by leaving words out. */
export const nonEmptyLabelSelector = withRule(labelSelector, {
  rule: "(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
  message:
    "must have matchLabels or matchExpressions: an empty selector would select every namespace; write all: true instead",
  holds: ({ matchLabels = {}, matchExpressions = [] }) =>
    Object.keys(matchLabels).length > 0 || matchExpressions.length > 0,
});
