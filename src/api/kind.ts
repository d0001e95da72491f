import type { z } from "zod";
import type { IamObject } from "./meta.ts";

/**
 * A CEL rule that compares with `oldSelf`, so that the API server evaluates it only on update. Rules about a single
 * state of an object belong in its schema; see `withRule`.
 */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** Dotted path of the rule's node, below the object's root. */
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

/** A custom resource, with everything that its CRD, its documentation and its controller need. */
export interface Kind<
  Spec extends z.ZodType = z.ZodType,
  Status extends z.ZodType = z.ZodType,
  Name extends string = string,
  Unstored extends string = string,
> {
  readonly kind: Name;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  readonly scope: "Cluster" | "Namespaced";
  /**
   * Whether the operator sets a finalizer, so that it can clean up before deletion. The operator then needs permission
   * to patch the objects.
   */
  readonly hasFinalizer: boolean;
  /**
   * The standard role with permission to create the kind's objects in a namespace; absent: cluster administrators only.
   */
  readonly writtenBy?: "edit" | "admin";
  /** One sentence for `kubectl explain` and the reference page. */
  readonly description: string;
  readonly spec: Spec;
  /**
   * Fields of the spec whose defaults, at any depth, the operator applies when it reads an object. The API server stores
   * none of them: it would check them by their CEL rules with every write. The descriptions name these defaults.
   */
  readonly unstoredDefaults?: readonly Unstored[];
  readonly status: Status;
  readonly rules: readonly CelRule[];
  /** Set if names of this kind are used in places that require shorter names. */
  readonly maxNameLength?: number;
  /** The kind's own columns. Ready and Reason come before them, Age after them. */
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields: readonly string[];
}

/** A stored object of the kind. */
export type ObjectOf<K extends Kind> = IamObject<StoredSpec<K>, z.output<K["status"]>>;

/** Unlike in a parsed spec, a field with an unstored default may be absent. */
type StoredSpec<K extends Kind> = [UnstoredOf<K>] extends [never]
  ? z.output<K["spec"]>
  : Omit<z.output<K["spec"]>, UnstoredOf<K>> & Pick<z.input<K["spec"]>, UnstoredOf<K>>;

type UnstoredOf<K extends Kind> = Extract<
  NonNullable<K["unstoredDefaults"]>[number],
  keyof z.input<K["spec"]>
>;

export function defineKind<
  Spec extends z.ZodType,
  Status extends z.ZodType,
  Name extends string,
  const Unstored extends string = never,
>(kind: Kind<Spec, Status, Name, Unstored>): Kind<Spec, Status, Name, Unstored> {
  return kind;
}

/** The columns of `kubectl get`, in this order. */
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
