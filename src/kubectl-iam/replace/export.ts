/** The replacement of an account as manifests for Git, in three commits. */

import { toManifest } from "../backup/manifest.ts";
import type { Io } from "../cli/io.ts";
import type { FileObject } from "../cluster/given-objects.ts";
import { nameOf } from "../cluster/kinds.ts";
import { toYaml } from "../view/output.ts";
import type { Plan } from "./plan.ts";

/** Each commit begins with a comment that says what to wait for afterwards. */
export async function printCommits(
  io: Io,
  { account, successor, missing, moving }: Plan,
): Promise<void> {
  const { namespace, name } = account.metadata;
  const wait = `kubectl wait -n ${namespace} --timeout=10m`;
  const bindings = missing.filter(({ kind }) => kind === "PolicyBinding").map(nameOf);
  const keys = moving.map((apiKey) => nameOf(apiKey));
  const moved = moving.map((apiKey) => {
    const manifest = toManifest(apiKey as FileObject);
    const spec = { ...apiKey.spec, serviceAccountRef: { name: successor } };
    return { ...manifest, spec };
  });
  const revoked = {
    ...toManifest(account as FileObject),
    spec: { ...account.spec, access: "Revoked" },
  };
  const ready = [`iamsa/${successor}`, ...bindings].join(" ");
  await print("Commit 1. Then", `${wait} --for=condition=Ready ${ready}`, missing);
  const delivered = `--for=jsonpath='{.status.current.serviceAccount}'=${successor}`;
  await print(
    "Commit 2. Then, and until no Pod uses the old keys",
    `${wait} ${delivered} ${keys.join(" ")}`,
    moved,
  );
  await print("Commit 3. Then", `${wait} --for=condition=AccessRevoked iamsa/${name}`, [revoked]);

  async function print(title: string, command: string, objects: readonly FileObject[]) {
    if (objects.length === 0) return;
    const texts = await Promise.all(objects.map(toYaml));
    io.print([`# ${title}: ${command}`, ...texts.map((text) => `---\n${text}`)].join("\n"));
  }
}
