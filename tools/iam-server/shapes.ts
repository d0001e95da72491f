/**
 * Answers which the API description leaves open, as switches: whoever talks to this server is
 * tested against more than one guess. The first variant of each is the default.
 */
export const SHAPE_VARIANTS = {
  /** Where the records of the service account list are. */
  serviceAccountList: ["envelope", "bareArray", "items"],
  /** Whether that list looks at `page` and `pageSize` (default page size 20). */
  serviceAccountPaging: ["honoured", "ignored"],
  /** What `keys` holds in a record of that list. */
  serviceAccountListKeys: ["empty", "listed", "omitted"],
  serviceAccountDetail: ["bare", "envelope"],
  /** Whether the records of accounts show descriptions. */
  accountDescriptions: ["shown", "omitted"],
  /** How a key looks in `keys` of the detail call. */
  keyRecords: ["full", "keyIdOnly", "idProperty", "strings", "empty", "omitted"],
  /** Whether expired and inactive keys stay in `keys`. */
  deadKeys: ["listed", "hidden"],
  /** The answer to issuing: the documented pair alone, or with the other fields of a key. */
  issuedKey: ["pair", "full"],
  /** The answer to the validity check: `valid` in an envelope, bare, or 204 against 401. */
  keyValidation: ["envelope", "bare", "statusOnly"],
  policyId: ["id", "policyId"],
  /** Whether IDs of policies count in any case and with outer white space, and answers have them in upper case. */
  policyIdCase: ["exact", "upper"],
  policyKind: ["kind", "type"],
  policyPaging: ["ignored", "honoured"],
  syncAnswer: ["envelope", "noContent", "echo"],
  /** The answer to "bindings of the target". */
  bindings: ["bindings", "policyIds", "policies", "strings", "unreadable"],
  /** Bindings of a target which does not exist. */
  unknownTarget: ["notFound", "emptyList"],
  /** Binding a policy which does not exist: 404 or 422. */
  unknownPolicy: ["notFound", "invalid"],
  /** A second service account of the same name in a project: a second record, or 409. */
  duplicateNames: ["allowed", "conflict"],
  decision: ["decision", "allowed"],
  instanceId: ["instanceId", "id"],
  /** Which authenticated calls need X-Domain-Id and X-Domain-Name. */
  domainHeaders: ["computeAndContainer", "everywhere"],
  /** Whether the instance list insists on X-Partition-Id. */
  partitionHeader: ["optional", "required"],
  errorBody: ["envelope", "detail", "text", "empty"],
  /** Whether every JSON object answer carries a field that nobody has heard of. */
  unknownFields: ["none", "present"],
} as const satisfies Record<string, readonly [string, string, ...string[]]>;

type ShapeName = keyof typeof SHAPE_VARIANTS;

/** One variant chosen for each open answer. */
export type Shapes = { [K in ShapeName]: (typeof SHAPE_VARIANTS)[K][number] };

export const SHAPE_NAMES = Object.keys(SHAPE_VARIANTS) as readonly ShapeName[];

export const DEFAULT_SHAPES: Readonly<Shapes> = Object.fromEntries(
  SHAPE_NAMES.map((name) => [name, SHAPE_VARIANTS[name][0]]),
) as Shapes;

/** The complete choice, with defaults for what is not named. */
export function shapes(chosen: Partial<Shapes> = {}): Shapes {
  return { ...DEFAULT_SHAPES, ...chosen };
}
