/**
 * The recipe for another namespace, on an API server with the CRDs of External Secrets. The program itself does not run:
 * its modules other than the main one are not published.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKubectl, type Kubectl } from "../../scripts/demo/kubectl.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { applyCrds } from "./crds.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/other-namespaces.md"), "utf8");
const recipe = /```yaml\n(.*?)```/s.exec(page)?.[1] ?? "";

let cluster: ControlPlane;
let kubectl: Kubectl;

beforeAll(async () => {
  cluster = await startControlPlane();
  kubectl = createKubectl(cluster.kubectl, cluster.kubeconfig);
  const folder = "config/crds/bases";
  await applyCrds(
    kubectl,
    "github.com/external-secrets/external-secrets@v1.3.2",
    `${folder}/external-secrets.io_secretstores.yaml`,
    `${folder}/external-secrets.io_pushsecrets.yaml`,
  );
  for (const namespace of ["team-a", "team-b"]) await kubectl(["create", "namespace", namespace]);
  await kubectl(["apply", "--validate=strict", "-f", "-"], recipe);
});
afterAll(() => cluster?.stop());

async function may(...question: readonly string[]): Promise<string> {
  const user = "--as=system:serviceaccount:team-a:push-to-team-b";
  const answer = kubectl(["auth", "can-i", ...question, user]);
  return (await answer.catch((error: Error) => error.message)).includes("yes") ? "yes" : "no";
}

test.each([
  ["yes", "get", "secret/ci-bot-key", "team-b"],
  ["yes", "create", "secrets", "team-b"],
  ["yes", "update", "secret/ci-bot-key", "team-b"],
  ["no", "get", "secret/other", "team-b"],
  ["no", "delete", "secret/ci-bot-key", "team-b"],
  ["no", "list", "secrets", "team-b"],
  ["no", "get", "secret/ci-bot-key", "team-a"],
])("who pushes is told %s: may it %s %s in %s", async (answer, verb, what, namespace) => {
  expect(await may(verb, what, `--namespace=${namespace}`)).toBe(answer);
});

test("the store accepts who may get one Secret", async () => {
  // External Secrets asks for the rules, and looks for one on Secrets with the verb get.
  const user = "--as=system:serviceaccount:team-a:push-to-team-b";
  const rules = await kubectl(["auth", "can-i", "--list", "--namespace=team-b", user]);
  expect(rules).toMatch(/^secrets +\[\] +\[ci-bot-key\] +\[get update\]$/m);
});
