import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import type { ControlPlane } from "./control-plane.ts";

/** Creates a namespace of which nobody else has the name: the prefix and some random letters. */
export async function createNamespace(
  { kubectl, kubeconfig }: Pick<ControlPlane, "kubectl" | "kubeconfig">,
  prefix: string,
): Promise<string> {
  const name = `${prefix}-${randomBytes(4).toString("hex")}`;
  await promisify(execFile)(kubectl, ["--kubeconfig", kubeconfig, "create", "namespace", name]);
  return name;
}
