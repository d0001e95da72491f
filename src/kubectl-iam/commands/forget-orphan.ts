/** `forget-orphan`: removes an orphaned key from an ApiKey's list. */
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { UsageError } from "../cli/errors.ts";
import { changeOf, makeChanges } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { parseNameOf } from "../cluster/kinds.ts";
import { readObject } from "../cluster/read.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { io, options, args } = invocation;
  const [nameText = "", keyId = ""] = args;
  const { name } = parseNameOf("ApiKey", nameText);
  await using cluster = await openCluster(io, options);
  const apiKey = await readObject(cluster, "ApiKey", name);
  const orphaned = apiKey.status?.orphaned ?? [];
  const left = orphaned.filter((orphan) => (orphan.keyId ?? orphan.attemptId) !== keyId);
  if (left.length === orphaned.length) {
    const known = orphaned.map((orphan) => orphan.keyId ?? orphan.attemptId).join(", ");
    throw new UsageError(
      `iamkey/${name} lists no lost key ${keyId}; its list has ${known || "none at all"}`,
    );
  }
  await confirm(
    invocation,
    `Key ${keyId} can still be valid in the console. iamkey/${name} no longer lists it, unless the operator finds it in a list of the console. Forget it?`,
  );
  const { resourceVersion } = apiKey.metadata;
  const patch = {
    // Requires the version that was read, because the operator may have added to the list.
    metadata: { resourceVersion },
    status: { orphaned: left.length === 0 ? null : left, orphanCount: left.length },
  };
  const change = changeOf(apiKey, patch, `no longer lists key ${keyId}`, "status");
  await makeChanges(invocation, cluster, [change]);
}
