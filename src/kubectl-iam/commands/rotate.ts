/** `rotate`: requests new keys, and waits until they are in use. */
import type { ApiKey } from "../../api/api-key.ts";
import { annotations } from "../../api/meta.ts";
import { toMicroTime } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { isToWait, makeChanges } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import { parseApiKeyName } from "../cluster/names.ts";
import { changeOf } from "../cluster/our-change.ts";
import { selectObjects } from "../cluster/read.ts";
import { rotationMissing } from "../cluster/rotation.ts";
import { waitForAll } from "../cluster/wait.ts";
import { nameOf } from "../cluster/why-held.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const names = args.map(parseApiKeyName);
  await using cluster = await openCluster(io, options);
  const keys = await selectObjects(cluster, names, ["ApiKey"], options);
  const token = toMicroTime(io.clock.now());
  const patch = { metadata: { annotations: { [annotations.rotateRequestedAt]: token } } };
  const changes = keys.map((key) => changeOf(key, patch, "rotation requested"));
  await makeChanges(invocation, cluster, changes);
  if (!isToWait(options)) return exitCode.ok;
  const before = new Map(keys.map((key) => [key.metadata.uid, keyIdOf(key)]));
  return await waitForAll(invocation, cluster, keys, {
    findMissing: (key) => rotationMissing(cluster, key as ApiKey, before.get(key.metadata.uid)),
    done: (key) => {
      const was = before.get(key.metadata.uid) ?? "none";
      io.print(`${nameOf(key)} has key ${keyIdOf(key)} (was ${was})`);
      return exitCode.ok;
    },
  });
}

function keyIdOf(key: AnyObject): string | undefined {
  return (key as ApiKey).status?.current?.keyId;
}
