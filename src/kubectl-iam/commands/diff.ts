/** `diff`: shows what applying objects would change in the console. */
import type { ObjectPlan } from "../../app/plan/plan-objects.ts";
import { toKubeReader } from "../../kube/client/reader.ts";
import { systemRandom } from "../../util/random.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { openCluster } from "../cluster/cluster.ts";
import { placed, readObjects } from "../cluster/given-objects.ts";
import { toText } from "../cluster/kinds.ts";
import { operatorNamespace } from "../cluster/operator.ts";
import { proxyOf } from "../console/target.ts";
import { userAgent } from "../user-agent.ts";
import { isStructured, printTable } from "../view/output.ts";
import type { Column } from "../view/table.ts";

interface Row {
  readonly object: string;
  readonly namespace: string;
  readonly call: string;
  readonly message: string;
  readonly bind?: readonly string[] | undefined;
  readonly unbind?: readonly string[] | undefined;
}

const columns: readonly Column<Row>[] = [
  { title: "OBJECT", cell: ({ object }) => object },
  { title: "CALL", cell: ({ call }) => call },
  { title: "CHANGE", cell: ({ message }) => message },
];

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  const objects = await readObjects(invocation);
  await using cluster = await openCluster(io, options);
  const { planObjects } = await import("../../app/plan/plan-objects.ts");
  const plans = await planObjects({
    kube: toKubeReader(cluster.kube),
    objects: objects.map((object) => placed(object, cluster.namespace)),
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
  const rows = plans.flatMap(rowsOf);
  const held = plans.filter(({ obstacle }) => obstacle !== undefined);
  const empty =
    held.length === 0
      ? "Nothing would change in the console."
      : "Nothing would change in the console before the following is corrected.";
  await printTable(invocation, { rows, columns, empty });
  if (!isStructured(invocation))
    for (const { obstacle, ...plan } of held)
      io.note(`${titleOf(plan)} would not be ready: ${obstacle}`);
  return rows.length + held.length === 0 ? exitCode.ok : exitCode.found;
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
