/** `support-bundle`: writes a folder for supporters who do not have access to the cluster. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toIso8601 } from "../../util/time.ts";
import { collect } from "../bundle/collect.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { openCluster } from "../cluster/cluster.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const now = toIso8601(io.clock.now()).replaceAll(/[^0-9TZ]/g, "");
  const folder = args[0] ?? `iam-support-${now}`;
  await using cluster = await openCluster(io, options);
  await createFolder(folder);
  const files = await collect(invocation, cluster);
  for (const { name, text } of files) {
    await writeFile(join(folder, name), text, { mode: 0o600 });
    io.print(join(folder, name));
  }
  const missing = files.filter((file) => file.missing !== undefined);
  for (const file of missing) io.note(`error: ${file.name} could not be read: ${file.missing}`);
  io.note(`Read it before you send it: tar czf ${folder}.tar.gz ${folder}`);
  return missing.length === 0 ? exitCode.ok : exitCode.failed;
}

async function createFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new UsageError(
      `the folder ${folder} cannot be created (${code}): give the name of a new folder`,
    );
  }
}
