import type { z } from "zod";
import type { IamObject } from "./meta.ts";

/**
 * A CEL rule that compares with `oldSelf`, so that the API server asks it on update only. Rules about one
 * state of an object sit in its schema, see `withRule`.
 */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** Dotted path of the node it sits on, below the object's root. */
  readonly at: string;
  /** The field below `at` that the message is about. */
  readonly field?: string;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** 1 shows the column only with `-o wide`. */
  readonly priority?: 1;
}

/** One custom resource: everything its CRD, its documentation and its controller need to know. */
export interface Kind<
  Spec extends z.ZodType = z.ZodType,
  Status extends z.ZodType = z.ZodType,
  Name extends string = string,
> {
  readonly kind: Name;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  readonly scope: "Cluster" | "Namespaced";
  /** Whether the operator keeps its objects by a finalizer until it has cleaned up, and so may patch them. */
  readonly hasFinalizer: boolean;
  /** The standard role that may create its objects in a namespace; absent: cluster administrators only. */
  readonly writtenBy?: "edit" | "admin";
  /** One sentence for `kubectl explain` and the reference page. */
  readonly description: string;
  readonly spec: Spec;
  readonly status: Status;
  readonly rules: readonly CelRule[];
  /** Where names of this kind end up in shorter places than a name may be. */
  readonly maxNameLength?: number;
  /** Those of its own. Ready and Reason stand before them, Age after them. */
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields: readonly string[];
}

/** An object of the kind, as stored. */
export type ObjectOf<K extends Kind> = IamObject<z.output<K["spec"]>, z.output<K["status"]>>;

export function defineKind<Spec extends z.ZodType, Status extends z.ZodType, Name extends string>(
  kind: Kind<Spec, Status, Name>,
): Kind<Spec, Status, Name> {
  return kind;
}

/** What `kubectl get` prints, in this order. */
export function columnsOf({ columns }: Kind): readonly PrinterColumn[] {
  return [readyColumn, reasonColumn, ...columns, ageColumn];
}

const readyColumn: PrinterColumn = {
  name: "Ready",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  description: "Whether the object is as declared.",
};

const reasonColumn: PrinterColumn = {
  name: "Reason",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  description: "Why it is or is not ready.",
};

const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since creation.",
};
