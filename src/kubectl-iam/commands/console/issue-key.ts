/** Call 5. */
import { open, rm } from "node:fs/promises";
import type { Invocation } from "../../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../../cli/errors.ts";
import { orDoubt } from "../../console/or-doubt.ts";
import { openConsole } from "../../console/session.ts";
import { printValue } from "../../view/output.ts";

const DEFAULT_DAYS = 90;

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const [saId = ""] = args;
  const { secretFile, reveal, dryRun } = options;
  if (!dryRun && (secretFile === undefined) !== (reveal === true))
    throw new UsageError(
      "the console shows the secret once: give --secret-file for a new file, or --reveal to print it, and one of them only",
    );
  await using session = await openConsole(invocation, "user");
  const key = {
    description: options.description ?? "",
    expiresInDays: options.expiresInDays ?? DEFAULT_DAYS,
  };
  if (dryRun) {
    await printValue(invocation, key);
    return exitCode.ok;
  }
  // Before the call: a secret that cannot be written would be lost.
  const file = secretFile === undefined ? undefined : await createFile(secretFile);
  try {
    const pair = await orDoubt(
      session.client.issueKey(saId, key),
      `kubectl iam console account ${saId} shows whether there is a new key`,
    );
    const shown = { keyId: pair.keyId, secret: pair.secret.reveal() };
    await file?.writeFile(`${JSON.stringify(shown)}\n`);
    if (file === undefined) await printValue(invocation, shown);
    else io.print(`key ${pair.keyId} issued; its secret is in ${secretFile}`);
  } catch (error) {
    if (secretFile !== undefined) await rm(secretFile);
    throw error;
  } finally {
    await file?.close();
  }
  return exitCode.ok;
}

async function createFile(path: string) {
  try {
    return await open(path, "wx", 0o600);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new UsageError(`${path} cannot be made as a new file (${code}); no key was issued`);
  }
}
