import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kubectl } from "./kubectl.ts";
import { PATIENCE_S } from "./patience.ts";

/** The operator's own namespace. */
export const SYSTEM = "iam-operator-system";
/** The namespace of the examples. */
export const NAMESPACE = "team-a";
/** Gives the operator its permissions in the whole cluster. */
export const BINDING = "iam-operator-demo";

/** Brings the CRDs, the operator's namespace and the permissions of deploy/rbac for the user `operator`. */
export async function installOperator(kubectl: Kubectl, root: string): Promise<void> {
  await install(kubectl, root, "--user=operator");
}

/** The same for a service account. Answers its token, which is good for a day. */
export async function installForServiceAccount(kubectl: Kubectl, root: string): Promise<string> {
  await install(kubectl, root, `--serviceaccount=${SYSTEM}:iam-operator`);
  await kubectl(["create", "serviceaccount", "iam-operator", `-n=${SYSTEM}`]);
  const token = ["create", "token", "iam-operator", `-n=${SYSTEM}`, "--duration=24h"];
  return (await kubectl(token)).trim();
}

async function install(kubectl: Kubectl, root: string, subject: string): Promise<void> {
  await kubectl(["apply", "--server-side", "-f", join(root, "crds")]);
  await kubectl(["create", "namespace", SYSTEM]);
  await kubectl(["apply", "-f", join(root, "deploy/rbac")]);
  await kubectl(["create", "clusterrolebinding", BINDING, "--clusterrole=iam-operator", subject]);
  await kubectl(["create", "rolebinding", BINDING, `-n=${SYSTEM}`, "--role=iam-operator", subject]);
  await kubectl([
    "wait",
    "--for=condition=Established",
    "crd",
    "--all",
    `--timeout=${PATIENCE_S}s`,
  ]);
}

/** Takes away what the installation brought, and the namespace of the examples. */
export async function uninstall(kubectl: Kubectl, root: string): Promise<void> {
  const gone = ["--ignore-not-found", `--timeout=${PATIENCE_S}s`];
  await kubectl(["delete", "namespace", NAMESPACE, SYSTEM, ...gone]);
  await kubectl(["delete", "clusterrolebinding", BINDING, ...gone]);
  await kubectl(["delete", "-f", join(root, "deploy/rbac"), ...gone]);
  await kubectl(["delete", "-f", join(root, "crds"), ...gone]);
}

/** A copy of the current context of `kubeconfig` for a token, and for nobody else's credentials. */
export async function writeTokenKubeconfig(
  kubectl: Kubectl,
  token: string,
  file: string,
): Promise<void> {
  const view = ["config", "view", "--raw", "--minify", "--flatten", "-o", "json"];
  const { clusters } = JSON.parse(await kubectl(view)) as { clusters: { name: string }[] };
  const cluster = clusters[0]?.name;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters,
    users: [{ name: "operator", user: { token } }],
    contexts: [{ name: "operator", context: { cluster, user: "operator" } }],
    "current-context": "operator",
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}
