/** `doctor`: checks an installation, or a key whose calls are denied. */
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { openCluster } from "../cluster/cluster.ts";
import { parseNameOf } from "../cluster/kinds.ts";
import { examineDenial } from "../doctor/denial.ts";
import { renderFindings } from "../doctor/finding.ts";
import { examineInstallation } from "../doctor/installation.ts";
import { isStructured, printValue } from "../view/output.ts";
import { screenOf } from "../view/screen.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const [text] = args;
  if (text === undefined && (options.action !== undefined || options.body !== undefined))
    throw new UsageError(
      "--action and --body are about a denied call: name the ApiKey that it was made with",
    );
  const apiKey = text === undefined ? undefined : parseNameOf("ApiKey", text).name;
  await using cluster = await openCluster(io, options);
  const { findings } =
    apiKey === undefined
      ? await examineInstallation(invocation, cluster)
      : await examineDenial(invocation, cluster, apiKey);
  if (isStructured(invocation)) await printValue(invocation, { items: findings });
  else io.print(renderFindings(findings, screenOf(io)));
  const verdicts = new Set(findings.map(({ verdict }) => verdict));
  if (verdicts.has("failed")) return exitCode.found;
  return verdicts.has("unknown") ? exitCode.unknown : exitCode.ok;
}
