/** What a team does with the operator: every kind once, rotation, repair, and the end of it all. */
import type { Kubectl } from "../../../scripts/demo/kubectl.ts";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import type { IamServer } from "../../../tools/iam-server/server.ts";
import { until } from "../../real-world/until.ts";

const API = "iam-operator.io/v1alpha1";

export interface Tenant {
  readonly namespace: string;
  readonly connection: { readonly kind: "Connection" | "ClusterConnection"; readonly name: string };
}

/** So large that the operator does not keep the object in memory, but reads it when it reconciles it. */
const LARGE = { "example.com/notes": "x".repeat(20_000) };

export function manifest(
  kind: string,
  name: string,
  namespace: string | undefined,
  spec: object,
): string {
  return JSON.stringify({
    apiVersion: API,
    kind,
    metadata: { name, annotations: LARGE, ...(namespace === undefined ? {} : { namespace }) },
    spec,
  });
}

export function connectionSpec(iam: IamServer): object {
  return {
    baseURL: iam.url,
    insecureHTTP: true,
    orgId: "org-1",
    projectId: "prj-1",
    domainName: "acme",
    caBundleFrom: { configMapRef: { name: "console-ca" } },
    credentials: { login: { secretRef: { name: "console-login" } } },
  };
}

/** What the connection takes from objects of this namespace. */
export async function createLogin(kubectl: Kubectl, namespace: string): Promise<void> {
  const { username, password, domain } = DEFAULT_CREDENTIALS;
  await kubectl([
    "create",
    "secret",
    "generic",
    "console-login",
    `--namespace=${namespace}`,
    `--from-literal=username=${username}`,
    `--from-literal=password=${password}`,
    `--from-literal=domain=${domain}`,
  ]);
  await kubectl([
    "create",
    "configmap",
    "console-ca",
    `--namespace=${namespace}`,
    "--from-literal=ca.crt=-----BEGIN CERTIFICATE-----",
  ]);
}

/** Account, bindings, key, quotas by that key; resolves when all of them are ready. */
export async function order(kubectl: Kubectl, { namespace, connection }: Tenant): Promise<void> {
  const account = { serviceAccountRef: { name: "bot" } };
  const objects = [
    manifest("ServiceAccount", "bot", namespace, { connectionRef: connection, name: namespace }),
    manifest("PolicyBinding", "bot", namespace, { ...account, policyIds: ["pol-p1-admin"] }),
    manifest("ApiKey", "key", namespace, account),
    manifest("ResourceQuotaExport", "quotas", namespace, {
      connectionRef: connection,
      clusterId: 7,
      interval: "15s",
      apiKeyRef: { name: "key" },
    }),
  ];
  for (const object of objects) await kubectl(["apply", "-f", "-"], object);
  for (const kind of ["iamsa/bot", "iampb/bot", "iamkey/key", "iamrq/quotas"])
    await kubectl(["wait", "--for=condition=Ready", kind, `-n=${namespace}`, "--timeout=90s"]);
}

export async function keyIdOf(kubectl: Kubectl, namespace: string): Promise<string> {
  const path = "jsonpath={.data.keyId}";
  const data = await kubectl(["get", "secret", "key", `-n=${namespace}`, "-o", path]);
  return Buffer.from(data, "base64").toString();
}

export async function rotate(kubectl: Kubectl, namespace: string): Promise<void> {
  const before = await keyIdOf(kubectl, namespace);
  const request = `iam-operator.io/rotate-requested-at=${Date.now()}`;
  await kubectl(["annotate", "iamkey", "key", `-n=${namespace}`, "--overwrite", request]);
  await until("another key", async () => (await keyIdOf(kubectl, namespace)) !== before);
}

/** Three edits of the Secret that the operator undoes, so that the event about it is repeated. */
export async function spoil(kubectl: Kubectl, namespace: string): Promise<void> {
  for (const edit of ["one", "two", "three"]) {
    const label = "iam-operator.io/role";
    await kubectl(["label", "secret", "key", `-n=${namespace}`, "--overwrite", `${label}=${edit}`]);
    const request = `iam-operator.io/reconcile-requested-at=${edit}`;
    await kubectl(["annotate", "iamkey", "key", `-n=${namespace}`, "--overwrite", request]);
    await until("the Secret's repair", async () => {
      const path = "jsonpath={.metadata.labels.iam-operator\\.io/role}";
      return (await kubectl(["get", "secret", "key", `-n=${namespace}`, "-o", path])) === "target";
    });
  }
}

export async function cancel(kubectl: Kubectl, namespace: string): Promise<void> {
  const kinds = "iamrq,iamkey,iampb,iamsa,iamconn";
  await kubectl(["delete", kinds, "--all", `-n=${namespace}`, "--timeout=90s"]);
}
