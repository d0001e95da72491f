/** `orphans`: keys that work at the console and that nobody has a use for. */
import type { ApiKey } from "../../api/api-key.ts";
import { isTrue } from "../../api/conditions.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { noteUnreadable, readWorld } from "../cluster/read.ts";
import { namespaceColumn } from "../view/namespace-column.ts";
import { printTable } from "../view/output.ts";
import type { Column } from "../view/table.ts";
import { relative } from "../view/time.ts";

export interface Orphan {
  readonly namespace: string | undefined;
  readonly object: string;
  /** The attempt's id where the console lists no keys. */
  readonly keyId: string;
  /**
   * Lost: issued, and its secret never arrived. Pending: issued, but it cannot be delivered. Unaccounted: at the
   * console, in no ApiKey's status.
   */
  readonly kind: "Lost" | "Pending" | "Unaccounted";
  readonly observedTime: string | undefined;
  readonly expirationTime: string | undefined;
}

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  await using cluster = await openCluster(io, options);
  const { world, unreadable } = await readWorld(cluster, scopeOf(cluster, options), {
    kinds: ["ApiKey", "ServiceAccount"],
  });
  const now = io.clock.now();
  const rows = findOrphans(world.apiKeys, world.serviceAccounts);
  const columns: readonly Column<Orphan>[] = [
    ...namespaceColumn<Orphan>(options),
    { title: "OBJECT", cell: ({ object }) => object },
    { title: "KEY-ID", cell: ({ keyId }) => keyId },
    { title: "KIND", cell: ({ kind }) => kind },
    { title: "FOUND", cell: ({ observedTime }) => relative(observedTime, now) },
    { title: "EXPIRES", cell: ({ expirationTime }) => relative(expirationTime, now) },
  ];
  const empty = "There are no keys at the console that nobody answers for.";
  await printTable(invocation, { rows, columns, empty });
  noteUnreadable(io, unreadable);
  if (rows.length === 0) return exitCode.ok;
  io.note(
    "\nEnd a key that is not used by anybody at the console. A lost one that you have dealt with: " +
      "kubectl iam forget-orphan APIKEY KEY-ID",
  );
  return exitCode.found;
}

/** Pure. Lost keys by ApiKey, then keys of accounts that no ApiKey of the account knows. */
export function findOrphans(
  apiKeys: readonly ApiKey[],
  serviceAccounts: readonly ServiceAccount[],
): readonly Orphan[] {
  const lost = apiKeys.flatMap(({ metadata, status }) =>
    (status?.orphaned ?? []).map(
      (orphan): Orphan => ({
        namespace: metadata.namespace,
        object: `iamkey/${metadata.name}`,
        keyId: orphan.keyId ?? orphan.attemptId,
        kind: "Lost",
        observedTime: orphan.observedTime,
        expirationTime: orphan.expirationTime,
      }),
    ),
  );
  const unlisted = serviceAccounts.flatMap((account) => unaccounted(account, apiKeys));
  return [...lost, ...apiKeys.flatMap(undeliverable), ...unlisted];
}

/** A new key in the Secret NAME-next, of an ApiKey that waits for a person. */
function undeliverable({ metadata, status }: ApiKey): readonly Orphan[] {
  const { pending, attempt, conditions } = status ?? {};
  if (pending === undefined || !isTrue(conditions, "Stalled")) return [];
  return [
    {
      namespace: metadata.namespace,
      object: `apikey/${metadata.name}`,
      keyId: pending.keyId,
      kind: "Pending",
      observedTime: attempt?.startTime,
      expirationTime: pending.expirationTime,
    },
  ];
}

function unaccounted(
  { metadata, status }: ServiceAccount,
  apiKeys: readonly ApiKey[],
): readonly Orphan[] {
  const own = apiKeys.filter(
    (key) =>
      key.metadata.namespace === metadata.namespace &&
      key.spec.serviceAccountRef.name === metadata.name,
  );
  // What is being issued right now is in no status yet.
  if (own.some((key) => key.status?.attempt !== undefined)) return [];
  const known = new Set(
    own.flatMap(({ status }) =>
      [status?.current, ...(status?.superseded ?? []), ...(status?.orphaned ?? [])].map(
        (key) => key?.keyId,
      ),
    ),
  );
  return (status?.liveKeyIds ?? [])
    .filter((keyId) => !known.has(keyId))
    .map((keyId) => ({
      namespace: metadata.namespace,
      object: `iamsa/${metadata.name}`,
      keyId,
      kind: "Unaccounted",
      observedTime: status?.lastKeyListTime,
      expirationTime: undefined,
    }));
}
