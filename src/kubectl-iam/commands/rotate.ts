/** `rotate`: asks for new keys, and waits until they are in use. */
import type { ApiKey } from "../../api/api-key.ts";
import { annotations } from "../../api/meta.ts";
import { toMicroTime } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { makeChanges } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { parseApiKeyName } from "../cluster/names.ts";
import { changeOf } from "../cluster/our-change.ts";
import { selectObjects } from "../cluster/read.ts";
import { waitFor } from "../cluster/wait.ts";
import { readinessOf } from "../view/readiness.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const names = args.map(parseApiKeyName);
  await using cluster = await openCluster(io, options);
  const keys = await selectObjects(cluster, names, ["ApiKey"], options);
  const token = toMicroTime(io.clock.now());
  const patch = { metadata: { annotations: { [annotations.rotateRequestedAt]: token } } };
  const changes = keys.map((key) => changeOf(key, patch, "rotation requested"));
  await makeChanges(invocation, cluster, changes);
  if (options.dryRun || !options.wait) return exitCode.ok;
  for (const key of keys as readonly ApiKey[]) {
    const before = key.status?.current?.keyId;
    const { metadata, status } = await waitFor(invocation, cluster, key, (now) =>
      missingOf(now, token, before),
    );
    io.print(`apikey/${metadata.name} has key ${status?.current?.keyId} (was ${before ?? "none"})`);
  }
  return exitCode.ok;
}

/** Pure. What stands between a request and its end: the key, the Secret, the Pods. */
export function missingOf(
  apiKey: ApiKey,
  token: string,
  before: string | undefined,
): string | undefined {
  const { current, lastHandledRotateAt, rotationPending, consumers } = apiKey.status ?? {};
  const { ready, reason, message } = readinessOf(apiKey);
  if (lastHandledRotateAt !== token || rotationPending || current?.keyId === before)
    return ready === "True" ? "waiting for the operator" : `${reason}: ${message}`;
  if (ready !== "True") return `${reason}: ${message}`;
  if (consumers !== undefined && consumers.stale > 0)
    return `${consumers.stale} of ${consumers.pods} Pods are on an older key`;
  return undefined;
}
