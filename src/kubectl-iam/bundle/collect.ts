/** Collects the files of a support bundle. */
import { GROUP, labels, MANAGED_BY } from "../../api/meta.ts";
import { isKubeError } from "../../kube/errors.ts";
import { secretType } from "../../kube/resource-types.ts";
import type { Invocation } from "../cli/command.ts";
import { type Cluster, scopeOf } from "../cluster/cluster.ts";
import { listEvents } from "../cluster/events.ts";
import { kindOf } from "../cluster/kinds.ts";
import { operatorNamespace } from "../cluster/operator.ts";
import { objectsOf, readWorld } from "../cluster/read.ts";
import { renderFindings } from "../doctor/finding.ts";
import { examineInstallation } from "../doctor/installation.ts";
import { toYaml } from "../view/output.ts";
import type { File } from "./file.ts";
import { filesOfPods } from "./pods.ts";
import { scrubObject, scrubSecret, scrubText } from "./scrub.ts";

const plain = { width: undefined, paint: (_style: unknown, text: string) => text };

/** If a part cannot be read, its file says why. */
export async function collect(invocation: Invocation, cluster: Cluster): Promise<readonly File[]> {
  const scope = scopeOf(cluster, invocation.options);
  const home = operatorNamespace(invocation.options);
  const { findings, answers } = await examineInstallation(invocation, cluster);
  const calls = answers.map(({ json: _, ...call }) => JSON.stringify(call));
  const files = [
    { name: "doctor.txt", text: renderFindings(findings, plain) },
    { name: "console-calls.txt", text: calls.join("\n") },
    await part("objects.yaml", () => objects(cluster, scope)),
    await part("secrets.yaml", () => secrets(cluster, scope)),
    await part("events.txt", () => events(cluster, scope)),
    ...(await filesOfPods(cluster, home)),
  ];
  return files.map((file) => ({ ...file, text: `${scrubText(file.text)}\n` }));
}

/** If the part cannot be read, the file and `missing` say why. Rejects with any error other than a KubeError. */
async function part(name: string, read: () => Promise<string>): Promise<File> {
  try {
    return { name, text: await read() };
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return { name, text: `not here: ${error.message}`, missing: error.message };
  }
}

async function objects(cluster: Cluster, scope: string | undefined): Promise<string> {
  const { world, unreadable } = await readWorld(cluster, scope);
  const documents = await Promise.all(
    objectsOf(world).map((each) => toYaml(scrubObject(each as never))),
  );
  const left = unreadable.map((kind) => kindOf(kind).plural).join(", ");
  if (left !== "")
    documents.push(`# Not included, because you do not have permission to list them: ${left}`);
  return documents.join("\n---\n");
}

async function secrets({ kube }: Cluster, scope: string | undefined): Promise<string> {
  const labelSelector = `${labels.managedBy}=${MANAGED_BY}`;
  // Entries are dropped while the list is read, so that no value stays in memory.
  const found = await kube.collect(secretType, (secret) => scrubSecret(secret, `${GROUP}/`), {
    labelSelector,
    namespace: scope,
  });
  const documents = await Promise.all(found.map(toYaml));
  return documents.join("\n---\n");
}

async function events(cluster: Cluster, scope: string | undefined): Promise<string> {
  const found = await listEvents(cluster, scope);
  return found
    .map(({ time, type, namespace, kind, name, reason, note, count }) =>
      [time, type, namespace, `${kind}/${name}`, reason, `x${count}`, note].join("  "),
    )
    .join("\n");
}
