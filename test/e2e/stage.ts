/** Everything the run takes place on: image, node, console, and ways to talk to them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findHelm, runHelm } from "../../scripts/chart/helm.ts";
import { run } from "../../scripts/image/execute.ts";
import type { BuiltImage } from "../../scripts/image/image.ts";
import { root } from "../../scripts/image/image.ts";
import { DEFAULT_CREDENTIALS } from "../../tools/iam-server/seed.ts";
import type { IamServer } from "../../tools/iam-server/server.ts";
import type { Node } from "../cluster/node/node.ts";

export const SYSTEM = "iam-operator-system";
export const TEAM = "team-a";
export const RELEASE = "iam-operator";

export interface Stage {
  readonly image: BuiltImage;
  readonly node: Node;
  readonly console: IamServer;
  readonly directory: string;
  kubectl(args: readonly string[], input?: string): Promise<string>;
  helm(...args: readonly string[]): Promise<string>;
}

export async function createStage(
  parts: Pick<Stage, "image" | "node" | "console" | "directory">,
): Promise<Stage> {
  const { kubeconfig, kubectl, directory } = parts.node;
  const helm = await findHelm();
  return {
    ...parts,
    kubectl: (args, input) =>
      run(
        kubectl,
        ["--kubeconfig", kubeconfig, "--cache-dir", join(directory, "kubectl"), ...args],
        input === undefined ? {} : { input },
      ),
    helm: async (...args) => {
      const { code, stdout, stderr } = await runHelm(helm, args, kubeconfig);
      if (code !== 0) throw new Error(`helm ${args.join(" ")}\n${stderr}`);
      return stdout;
    },
  };
}

/** What the README tells people to do first. */
export async function createNamespaces({ kubectl, directory }: Stage): Promise<void> {
  for (const namespace of [SYSTEM, TEAM]) {
    await kubectl(["create", "namespace", namespace]);
    const label = "pod-security.kubernetes.io/enforce=restricted";
    await kubectl(["label", "namespace", namespace, label]);
  }
  const { username, password, domain } = DEFAULT_CREDENTIALS;
  const login = `username=${username}\npassword=${password}\ndomain=${domain}\n`;
  const file = join(directory, "login.env");
  writeFileSync(file, login, { mode: 0o600 });
  const create = ["create", "secret", "generic", "console-login", `--namespace=${SYSTEM}`];
  await kubectl([...create, `--from-env-file=${file}`]);
}

/** Every manifest of deploy/examples, with the address of this run's console. */
export async function applyExamples({ kubectl, console: iam, directory }: Stage): Promise<void> {
  const bearer = iam.world.openSession(DEFAULT_CREDENTIALS.username);
  const token = ["create", "secret", "generic", "console-token", `--namespace=${TEAM}`];
  const file = join(directory, "token");
  writeFileSync(file, bearer, { mode: 0o600 });
  await kubectl([...token, `--from-file=token=${file}`]);
  for (const name of [
    "cluster-connection",
    "connection",
    "service-account",
    "policy-binding",
    "api-key",
    "resource-quota-export",
  ]) {
    const text = readFileSync(join(root, "deploy/examples", `${name}.yaml`), "utf8");
    await kubectl(
      ["apply", "-f", "-"],
      text.replace(
        "baseURL: https://console.example.com",
        `baseURL: ${iam.url}\n  insecureHTTP: true`,
      ),
    );
  }
}

export async function allReady({ kubectl }: Stage): Promise<void> {
  const wait = ["wait", "--for=condition=Ready", "--timeout=90s"];
  await kubectl([...wait, "iamcconn/default"]);
  for (const kind of ["iamconn", "iamsa", "iampb", "iamkey", "iamrq"])
    await kubectl([...wait, kind, "--all", `--namespace=${TEAM}`]);
}
