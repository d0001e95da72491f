/** `rotate`: requests new keys, and waits until they are in use. */
import type { ApiKey } from "../../api/api-key.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { toMicroTime } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { changeOf } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { type AnyObject, nameOf, parseNameOf } from "../cluster/kinds.ts";
import { selectObjects } from "../cluster/resolve.ts";
import { rotationMissing, rotationRequest } from "../cluster/rotation.ts";
import { changeAndWait } from "../cluster/wait.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const names = args.map((text) => parseNameOf("ApiKey", text));
  await using cluster = await openCluster(io, options);
  const selected = await selectObjects(cluster, names, ["ApiKey"], options);
  const keys = selected.filter((each) => !isBeingDeleted(each));
  for (const key of selected.filter((each) => !keys.includes(each)))
    io.note(`error: ${nameOf(key)} is being deleted, so no key is issued for it.`);
  const token = toMicroTime(io.clock.now());
  const changes = keys.map((key) =>
    changeOf(key, rotationRequest(key as ApiKey, token), "rotation requested"),
  );
  const code = await changeAndWait(invocation, cluster, changes, {
    findMissing: (key, before) => rotationMissing(cluster, key as ApiKey, keyIdOf(before)),
    done: (key, before) => {
      io.print(`${nameOf(key)} has key ${keyIdOf(key)} (was ${keyIdOf(before) ?? "none"})`);
      return exitCode.ok;
    },
  });
  return keys.length === selected.length ? code : exitCode.failed;
}

function keyIdOf(key: AnyObject): string | undefined {
  return (key as ApiKey).status?.current?.keyId;
}
