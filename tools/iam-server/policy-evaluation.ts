/** The console's authorization decision: Deny over Allow over nothing. */

export interface Statement {
  readonly Sid: string;
  readonly Effect: "Allow" | "Deny";
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
}

/** What a request wants to touch; written `trn:<partition>:<service>:<org>:<region>:<project>:<type>/<id>`. */
export interface ResourceName {
  /** `undefined`: the request names no partition. `"any"`: partitions do not matter to this call. */
  readonly partition: string | undefined;
  readonly service: string;
  readonly orgId: string;
  readonly region: string;
  readonly projectId: string;
  readonly name: string;
}

export interface Decision {
  readonly allowed: boolean;
  readonly reason: "Allowed" | "ExplicitDeny" | "NoAllowingPolicy";
  /** Labels of the statements that decided. */
  readonly sids: readonly string[];
}

/** A statement with its patterns ready to match. */
export interface CompiledStatement {
  readonly sid: string;
  readonly effect: Statement["Effect"];
  matches(action: string, resource: ResourceName): boolean;
}

/** Partition of calls on which X-Partition-Id has no effect. */
export const ANY_PARTITION = "any";

const SEGMENTS = 7;

export function compileStatement(statement: Statement): CompiledStatement {
  const actions = statement.Action.map(compileAction);
  const resources = statement.Resource.map(compileResource);
  return {
    sid: statement.Sid,
    effect: statement.Effect,
    matches: (action, resource) =>
      actions.some((matches) => matches(action)) && resources.some((matches) => matches(resource)),
  };
}

/** An explicit Deny wins; otherwise one Allow is needed; nothing is allowed by default. */
export function decide(
  statements: Iterable<CompiledStatement>,
  action: string,
  resource: ResourceName,
): Decision {
  const matching = [...statements].filter((statement) => statement.matches(action, resource));
  const denying = matching.filter((statement) => statement.effect === "Deny");
  const deciding = denying.length > 0 ? denying : matching;
  const reason =
    denying.length > 0 ? "ExplicitDeny" : matching.length > 0 ? "Allowed" : "NoAllowingPolicy";
  return { allowed: reason === "Allowed", reason, sids: deciding.map(({ sid }) => sid) };
}

/** Reads a concrete resource name; `undefined` where the text is not one. */
export function parseResourceName(text: string): ResourceName | undefined {
  const parts = text.split(":");
  const [scheme, partition, service, orgId, region, projectId, name] = parts;
  if (parts.length !== SEGMENTS || scheme !== "trn" || !name?.includes("/")) return undefined;
  return {
    partition: partition === "" ? undefined : partition,
    service: service ?? "",
    orgId: orgId ?? "",
    region: region ?? "",
    projectId: projectId ?? "",
    name,
  };
}

/** Exact identifiers, or everything below a prefix that ends in `.*`. */
function compileAction(pattern: string): (action: string) => boolean {
  if (!pattern.endsWith(".*")) return (action) => action === pattern;
  const prefix = pattern.slice(0, -1);
  return (action) => action.startsWith(prefix) && action.length > prefix.length;
}

function compileResource(pattern: string): (resource: ResourceName) => boolean {
  const parts = pattern.split(":");
  if (parts.length !== SEGMENTS || parts[0] !== "trn") return () => false;
  const [, partition, service, org, region, project, name] = parts.map(compileGlob);
  return (resource) =>
    partitionMatches(partition, parts[1], resource.partition) &&
    service?.(resource.service) === true &&
    org?.(resource.orgId) === true &&
    region?.(resource.region) === true &&
    project?.(resource.projectId) === true &&
    name?.(resource.name) === true;
}

/** A request without a partition is only covered by a pattern for all partitions. */
function partitionMatches(
  glob: ((text: string) => boolean) | undefined,
  pattern: string | undefined,
  partition: string | undefined,
): boolean {
  if (partition === ANY_PARTITION) return true;
  if (partition === undefined) return pattern === "*";
  return glob?.(partition) === true;
}

function compileGlob(pattern: string): (text: string) => boolean {
  if (pattern === "*") return () => true;
  if (!pattern.includes("*")) return (text) => text === pattern;
  const source = pattern.split("*").map((literal) => literal.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  const expression = new RegExp(`^${source.join(".*")}$`);
  return (text) => expression.test(text);
}
