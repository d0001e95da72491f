/** `issueKey`. */
import { open, rm } from "node:fs/promises";
import type { KeyPair } from "../../../console/model.ts";
import type { Invocation } from "../../cli/command.ts";
import { UsageError } from "../../cli/errors.ts";
import { openConsole } from "../../console/session.ts";
import { explainUncertainOutcome } from "../../console/uncertain-outcome.ts";
import { printValue } from "../../view/output.ts";

const DEFAULT_DAYS = 90;

export async function run(invocation: Invocation): Promise<void> {
  const { io, options, args } = invocation;
  const [saId = ""] = args;
  const { secretFile, reveal, printOnly } = options;
  if (printOnly === undefined && (secretFile === undefined) !== (reveal === true))
    throw new UsageError(
      "the console shows the secret once: give either --secret-file for a new file, or --reveal to print it",
    );
  await using session = await openConsole(invocation, "user");
  const key = {
    description: options.description ?? "",
    expiresInDays: options.expiresInDays ?? DEFAULT_DAYS,
  };
  if (printOnly) return await printValue(invocation, key);
  const issue = () =>
    explainUncertainOutcome(
      session.client.issueKey({ saId, ...key }),
      `kubectl iam console account ${saId} shows whether there is a new key`,
    );
  if (secretFile === undefined) await printValue(invocation, shown(await issue()));
  else io.print(await issueInto(secretFile, issue));
}

function shown({ keyId, secret }: KeyPair) {
  return { keyId, secret: secret.reveal() };
}

/** Creates the file before the call, because a secret that cannot be written would be lost. */
async function issueInto(path: string, issue: () => Promise<KeyPair>): Promise<string> {
  const file = await createFile(path);
  try {
    const pair = await issue();
    await file.writeFile(`${JSON.stringify(shown(pair))}\n`);
    return `key ${pair.keyId} issued; its secret is in ${path}`;
  } catch (error) {
    await rm(path);
    throw error;
  } finally {
    await file.close();
  }
}

async function createFile(path: string) {
  try {
    return await open(path, "wx", 0o600);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new UsageError(`${path} cannot be made as a new file (${code}); no key was issued`);
  }
}
