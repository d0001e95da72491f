/** `diff`: shows what applying objects would change in the console. */
import { API_VERSION } from "../../api/meta.ts";
import type { ObjectPlan } from "../../app/plan/plan-objects.ts";
import { toKubeReader } from "../../kube/client/reader.ts";
import { isKubeError } from "../../kube/errors.ts";
import { keyOf } from "../../kube/resource.ts";
import { systemRandom } from "../../util/random.ts";
import { truncateList } from "../../util/truncate-list.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, Unknown, UsageError } from "../cli/errors.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { concernedBy } from "../cluster/concerned-objects.ts";
import { type FileObject, placed, readObjects } from "../cluster/given-objects.ts";
import { isCustomResource, nameOf, toText } from "../cluster/kinds.ts";
import type { StoredObject } from "../cluster/object-users.ts";
import { operatorNamespace } from "../cluster/operator.ts";
import { othersAsApplied } from "../cluster/other-objects.ts";
import { refsOf } from "../cluster/relations.ts";
import { judge, type Verdict } from "../cluster/verdict.ts";
import { proxyOf } from "../console/target.ts";
import { userAgent } from "../user-agent.ts";
import { printTable } from "../view/output.ts";
import { readinessOf } from "../view/readiness.ts";
import type { Column } from "../view/table.ts";

interface Row {
  readonly object: string;
  readonly namespace: string;
  readonly call: string;
  readonly message: string;
  readonly bind?: readonly string[] | undefined;
  readonly unbind?: readonly string[] | undefined;
}

const namespaceColumn: Column<Row> = { title: "NAMESPACE", cell: ({ namespace }) => namespace };
const columns: readonly Column<Row>[] = [
  { title: "OBJECT", cell: ({ object }) => object },
  { title: "CALL", cell: ({ call }) => call },
  { title: "CHANGE", cell: ({ message }) => message },
];

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  const files = await readObjects(invocation);
  await using cluster = await openCluster(io, options);
  try {
    return await compare(invocation, cluster, files);
  } catch (error) {
    throw isKubeError(error) && !io.interrupted.aborted ? new Unknown(error) : error;
  }
}

async function compare(
  invocation: Invocation,
  cluster: Cluster,
  files: readonly FileObject[],
): Promise<ExitCode> {
  const { io, options } = invocation;
  const given = files.map((object) => placed(object, cluster.namespace));
  const own = given.filter(isCustomResource);
  const verdicts = await Promise.all(own.map((object) => judge(cluster.kube, object, given)));
  const accepted = verdicts.flatMap((each) => (each.kind === "Accepted" ? each : []));
  const refused = verdicts.flatMap((each) => (each.kind === "Refused" ? each : []));
  const others = await othersAsApplied(
    cluster.kube,
    given.filter((object) => !isCustomResource(object)),
  );
  if (own.length + others.length === 0)
    throw new UsageError(`the files hold no object of ${API_VERSION}`);
  const { objects: concerned, unlisted } = await concernedBy(
    cluster,
    [...accepted, ...others],
    operatorNamespace(options),
  );
  const objects = [...others, ...accepted].map(({ object }) => object);
  const plans = await plansOf(invocation, cluster, [...objects, ...concerned]);
  const rows = plans.flatMap(rowsOf);
  const held = plans.filter(
    (plan) => plan.obstacle !== undefined && !isKnown(plan, concerned, own),
  );
  const isUnknown = unlisted.length > 0 || plans.some((plan) => plan.isUnknown);
  const empty = isUnknown
    ? "What would change in the console is unknown."
    : held.length + refused.length === 0
      ? "Nothing would change in the console."
      : "Nothing would change in the console at once. See the following.";
  const isElsewhere = plans.some(({ key }) => !["", cluster.namespace].includes(key.namespace));
  await printTable(invocation, {
    rows,
    columns: isElsewhere ? [namespaceColumn, ...columns] : columns,
    empty,
  });
  const notes = [
    ...refused.map(
      ({ object, message }) => `error: ${nameOf(object)} would be refused: ${message}`,
    ),
    ...held.map((plan) => obstacleText(plan, isElsewhere)),
    ...unlisted,
    ...schemaNote(accepted),
  ];
  for (const line of notes) io.note(line);
  if (refused.length > 0) return exitCode.failed;
  if (isUnknown) return exitCode.unknown;
  return rows.length + held.length > 0 ? exitCode.found : exitCode.ok;
}

async function plansOf(
  { io, options }: Invocation,
  { kube }: Cluster,
  objects: readonly FileObject[],
): Promise<readonly ObjectPlan[]> {
  const { planObjects } = await import("../../app/plan/plan-objects.ts");
  return planObjects({
    kube: toKubeReader(kube),
    objects,
    operatorNamespace: operatorNamespace(options),
    userAgent,
    egressFor: ({ baseURL, proxyURL }) => {
      const proxy = proxyOf({ baseURL, proxyURL }, io.environment);
      return proxy === undefined ? {} : { proxy };
    },
    clock: io.clock,
    random: systemRandom,
    signal: io.interrupted,
  });
}

function obstacleText({ obstacle, ...plan }: ObjectPlan, isElsewhere: boolean): string {
  const { namespace } = plan.key;
  const place = isElsewhere && namespace !== "" ? ` in namespace ${namespace}` : "";
  return plan.isUnknown
    ? `error: ${titleOf(plan)}${place}: what would change is unknown: ${obstacle}`
    : `${titleOf(plan)}${place} would not be ready: ${obstacle}`;
}

type Accepted = Extract<Verdict, { kind: "Accepted" }>;

function schemaNote(accepted: readonly Accepted[]): readonly string[] {
  const names = accepted.filter(({ isBySchema }) => isBySchema).map(({ object }) => nameOf(object));
  return names.length === 0
    ? []
    : [`Checked by schema only, not by the API server: ${truncateList(names, 5)}.`];
}

/** Whether the plan is only about objects that are not in the files and that already report its obstacle. */
function isKnown(
  plan: ObjectPlan,
  concerned: readonly StoredObject[],
  given: readonly FileObject[],
): boolean {
  const isAbout = (object: FileObject) => {
    const { namespace, name } = keyOf(object);
    const { serviceAccountRef } = plan.kind === "PolicyBinding" ? refsOf(object) : {};
    const isSameKind = object.kind === plan.kind;
    return (
      isSameKind &&
      namespace === plan.key.namespace &&
      (serviceAccountRef?.name ?? name) === plan.key.name
    );
  };
  const reports = concerned.filter(isAbout).map(readinessOf);
  return (
    !plan.isUnknown &&
    !given.some(isAbout) &&
    reports.some(({ reason, message }) => `${reason}: ${message}` === plan.obstacle)
  );
}

function rowsOf(plan: ObjectPlan): readonly Row[] {
  const { namespace } = plan.key;
  return plan.calls.map(({ call, message, bind, unbind }) => ({
    object: titleOf(plan),
    namespace,
    call,
    message,
    bind,
    unbind,
  }));
}

/** The policies of an account are one list, whichever PolicyBinding declares them. */
function titleOf({ kind, key: { name } }: Pick<ObjectPlan, "kind" | "key">): string {
  return kind === "PolicyBinding"
    ? `policies of ${toText({ kind: "ServiceAccount", name })}`
    : toText({ kind, name });
}
