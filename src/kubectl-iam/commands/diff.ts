/** `diff`: shows what applying objects would change in the console. */
import { API_VERSION } from "../../api/meta.ts";
import type { ObjectPlan } from "../../app/plan/plan-objects.ts";
import { toKubeReader } from "../../kube/client/reader.ts";
import { isKubeError } from "../../kube/errors.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import { systemRandom } from "../../util/random.ts";
import { truncateList } from "../../util/truncate-list.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, Unknown, UsageError } from "../cli/errors.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { concernedBy } from "../cluster/concerned-objects.ts";
import { type FileObject, placed, readObjects } from "../cluster/given-objects.ts";
import { isCustomResource, nameOf, toText } from "../cluster/kinds.ts";
import { operatorNamespace } from "../cluster/operator.ts";
import { othersAsApplied } from "../cluster/other-objects.ts";
import { judge, type Verdict } from "../cluster/verdict.ts";
import { proxyOf } from "../console/target.ts";
import { userAgent } from "../user-agent.ts";
import { printTable } from "../view/output.ts";
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
  refuseTwins(given);
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
  const isGiven = ({ kind, key }: ObjectPlan) =>
    own.some((each) => each.kind === kind && keyText(keyOf(each)) === keyText(key));
  const obstructed = plans.filter(
    (plan) => plan.obstacle !== undefined && (isGiven(plan) || !plan.isReported),
  );
  const ofHelm = accepted.filter(({ isOfHelm }) => isOfHelm);
  const isUnknown = unlisted.length + ofHelm.length > 0 || plans.some((plan) => plan.isUnknown);
  const empty = isUnknown
    ? "What would change in the console is unknown."
    : obstructed.length + refused.length === 0
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
    ...unknownTexts(obstructed, isElsewhere),
    ...obstructed.filter((plan) => !plan.isUnknown).map((plan) => obstacleText(plan, isElsewhere)),
    ...unlisted,
    ...ofHelm.map(
      ({ object }) =>
        `error: ${nameOf(object)}: planned as kubectl apply would leave it, but Helm manages it: what Helm would leave is unknown`,
    ),
    ...schemaNote(accepted),
  ];
  for (const line of notes) io.note(line);
  if (refused.length > 0) return exitCode.failed;
  if (isUnknown) return exitCode.unknown;
  return rows.length + obstructed.length > 0 ? exitCode.found : exitCode.ok;
}

/** `kubectl apply` would apply one after the other, which one plan cannot show. Throws UsageError. */
function refuseTwins(given: readonly FileObject[]): void {
  const ids = given.map((each) => `${each.apiVersion} ${each.kind} ${keyText(keyOf(each))}`);
  const twin = ids.find((id, index) => ids.indexOf(id) < index);
  if (twin !== undefined) throw new UsageError(`the files hold an object twice: ${twin}`);
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

/** A line for all objects of which the plan is unknown for the same reason. */
function unknownTexts(plans: readonly ObjectPlan[], isElsewhere: boolean): readonly string[] {
  const unknown = plans.filter(({ isUnknown }) => isUnknown);
  return [...Map.groupBy(unknown, ({ obstacle }) => obstacle)].map(([obstacle, group]) => {
    const titles = group.map((plan) => placeOf(plan, isElsewhere));
    return `error: ${truncateList(titles, 5)}: what would change is unknown: ${obstacle}`;
  });
}

function obstacleText(plan: ObjectPlan, isElsewhere: boolean): string {
  const title = placeOf(plan, isElsewhere);
  return plan.stopsNextKey
    ? `${title} would keep its key, be issued no other key, and report ${plan.obstacle}`
    : `${title} would not be ready and would report ${plan.obstacle}`;
}

function placeOf(plan: ObjectPlan, isElsewhere: boolean): string {
  const { namespace } = plan.key;
  return `${titleOf(plan)}${isElsewhere && namespace !== "" ? ` in namespace ${namespace}` : ""}`;
}

type Accepted = Extract<Verdict, { kind: "Accepted" }>;

function schemaNote(accepted: readonly Accepted[]): readonly string[] {
  const names = accepted.filter(({ isBySchema }) => isBySchema).map(({ object }) => nameOf(object));
  return names.length === 0
    ? []
    : [`Checked by schema only, not by the API server: ${truncateList(names, 5)}.`];
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

function titleOf({ kind, key: { name } }: Pick<ObjectPlan, "kind" | "key">): string {
  return kind === "Policies"
    ? `policies of ${toText({ kind: "ServiceAccount", name })}`
    : toText({ kind, name });
}
