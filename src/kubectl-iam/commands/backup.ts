/** `backup`: writes the operator's objects and their Secrets as manifests that can be applied. */
import { writeFile } from "node:fs/promises";
import { labels } from "../../api/meta.ts";
import { collectBackup } from "../backup/collect.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { openCluster } from "../cluster/cluster.ts";
import type { FileObject } from "../cluster/given-objects.ts";
import { noteUnreadable } from "../cluster/read.ts";
import { toYaml } from "../view/output.ts";
import { escapeControls } from "../view/screen.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const [file] = args;
  await using cluster = await openCluster(io, options);
  const { objects, unreadable, gaps, remarks } = await collectBackup(cluster, options);
  const text = (await Promise.all(objects.map(toDocument))).join("\n---\n");
  if (file === undefined) io.print(text);
  else await writeNew(file, `${text}\n`);
  for (const line of [...gaps, ...remarks]) io.note(line);
  noteUnreadable(io, unreadable);
  io.note(aboutSecrets(objects, file ?? "The output"));
  if (unreadable.length > 0) return exitCode.failed;
  return gaps.length > 0 ? exitCode.found : exitCode.ok;
}

/** As JSON, which is YAML too, if the output would otherwise change a character. */
async function toDocument(object: FileObject): Promise<string> {
  const yaml = await toYaml(object);
  return escapeControls(yaml) === yaml ? yaml : JSON.stringify(object, null, 2);
}

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new UsageError(`${file} cannot be created (${code}): give the name of a new file`);
  }
}

function aboutSecrets(objects: readonly FileObject[], where: string): string {
  const secrets = objects.filter(({ kind }) => kind === "Secret");
  const pairs = secrets.filter(({ metadata }) => metadata.labels?.[labels.apiKey] !== undefined);
  return secrets.length === 0
    ? `${where} holds no Secret: restore creates only ApiKeys whose Secrets are in the cluster.`
    : `${where} holds secrets: Secrets with key pairs: ${pairs.length}, Secrets of connections: ${secrets.length - pairs.length}. Encrypt it.`;
}
