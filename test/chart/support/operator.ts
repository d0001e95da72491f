/** The operator as the chart's Deployment starts it, but for addresses: a process with those very flags and variables. */
import type { Kubectl } from "../../../scripts/demo/kubectl.ts";
import { type OperatorProcess, startOperator } from "../../real-world/program.ts";

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

const ADDRESSES = /^--(metrics|probe)-address=|^--connection-networks=/;

export async function startDeployed(
  kubectl: Kubectl,
  { namespace, name, kubeconfig }: { namespace: string; name: string; kubeconfig: string },
): Promise<OperatorProcess> {
  const path = "jsonpath={.spec.template.spec.containers[0]}";
  const container: Container = JSON.parse(
    await kubectl(["get", "deployment", name, `-n=${namespace}`, "-o", path]),
  );
  const operator = await startOperator({
    kubeconfig,
    args: container.args.filter((flag) => !ADDRESSES.test(flag)),
    environment: { POD_NAME: "pod-1", ...variables(container) },
  });
  await operator.untilReady();
  return operator;
}

function variables({ env }: Container): Readonly<Record<string, string>> {
  return Object.fromEntries(
    env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
}
