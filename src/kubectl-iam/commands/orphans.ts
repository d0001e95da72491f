/** `orphans`: lists keys that were lost, cannot be delivered, or are not in any ApiKey's status, and orphaned accounts. */
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition, isReportedOn, isTrue } from "../../api/conditions.ts";
import { ISSUANCE_ALLOWED, SECRET_IMMUTABLE, SECRET_REJECTED } from "../../api/issuance.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Instant } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { isGone } from "../cluster/bound-policies.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { commandAbout, nameOf } from "../cluster/kinds.ts";
import { noteLeader } from "../cluster/leader.ts";
import { unnamedKeyIds } from "../cluster/live-keys.ts";
import { noteUnreadable, readWorld } from "../cluster/read.ts";
import { isStructured, printTable } from "../view/output.ts";
import type { Column } from "../view/table.ts";
import { namespaceColumn } from "../view/table.ts";
import { relative } from "../view/time.ts";

interface Orphan {
  readonly namespace: string | undefined;
  readonly object: string;
  /** The attempt's ID if the key's ID is unknown. Absent for accounts. */
  readonly keyId?: string;
  /** Only of accounts. */
  readonly saId?: string;
  /**
   * Orphaned: issued, but its secret was lost. Pending: issued, but it cannot be delivered. Unmanaged: in the console,
   * but not in any ApiKey's status. Unconfirmed: the same, but the operator has not reported it yet. Expected: not in any
   * ApiKey's status, and the ServiceAccount has `unmanagedKeys: Expect`. Account: an additional account that was created
   * for the ServiceAccount. Namesake: an account with the name of the ServiceAccount's account.
   */
  readonly kind:
    | "Orphaned"
    | "Pending"
    | "Unmanaged"
    | "Unconfirmed"
    | "Expected"
    | "Account"
    | "Namesake";
  readonly observedTime: string | undefined;
  readonly expirationTime: string | undefined;
  /** The cluster that the key's description names. */
  readonly cluster?: string | undefined;
  /** Whether the console does not show the key's ID. */
  readonly isUnnamed?: boolean;
}

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  await using cluster = await openCluster(io, options);
  const { world, unreadable } = await readWorld(cluster, scopeOf(cluster, options), {
    kinds: ["ApiKey", "ServiceAccount"],
  });
  await noteLeader(invocation, cluster);
  const now = cluster.now();
  const named = unreadable.includes("ApiKey") ? undefined : world.apiKeys;
  const rows = findOrphans(named, world.serviceAccounts);
  const existing = world.serviceAccounts.filter((account) => !isGone(account));
  const columns: readonly Column<Orphan>[] = [
    ...namespaceColumn<Orphan>(options),
    { title: "OBJECT", cell: ({ object }) => object },
    { title: "ID", cell: ({ keyId, saId = "" }) => keyId ?? saId },
    { title: "KIND", cell: ({ kind }) => kind },
    ...(rows.some(({ cluster }) => cluster !== undefined)
      ? [{ title: "DESCRIBED-CLUSTER", cell: ({ cluster = "" }: Orphan) => cluster }]
      : []),
    { title: "FOUND", cell: ({ observedTime }) => relative(observedTime, now) },
    { title: "EXPIRES", cell: ({ expirationTime }) => relative(expirationTime, now) },
  ];
  const unknown = unauditedAccounts(existing);
  const open = openAttempts(world.apiKeys);
  const isWhole = unreadable.length === 0 && unknown.length + open.length === 0;
  const empty = isWhole
    ? "No orphaned or unmanaged keys."
    : "No orphaned or unmanaged key is known.";
  await printTable(invocation, { rows, columns, empty });
  noteUnreadable(io, unreadable);
  const age = ageOfLists(existing, now);
  if (age !== undefined && !isStructured(invocation)) io.note(age);
  for (const { name, why } of unknown) io.note(`${name}: unmanaged keys are unknown: ${why}`);
  for (const name of open)
    io.note(`${name}: whether its last attempt has issued a key is not known yet.`);
  if (rows.length > 0) io.note(`\n${adviceFor(rows).join("\n")}`);
  const kinds = new Set(rows.map(({ kind }) => kind));
  const isUnknown = kinds.delete("Unconfirmed") || !isWhole;
  kinds.delete("Expected");
  return kinds.size > 0 ? exitCode.found : isUnknown ? exitCode.unknown : exitCode.ok;
}

/** Pure. The age of the lists that were compared with the keys of ApiKeys; `undefined` if there is no list. */
export function ageOfLists(accounts: readonly ServiceAccount[], now: Instant): string | undefined {
  const listed = accounts.filter(({ status }) => status?.lastKeyListTime !== undefined);
  const [oldest] = listed.flatMap(({ status }) => status?.lastKeyListTime ?? []).toSorted();
  const [first] = listed;
  if (oldest === undefined || first === undefined) return undefined;
  const command =
    listed.length === 1 ? commandAbout("reconcile", first) : "kubectl iam reconcile iamsa/NAME";
  return `Lists of keys: as the console showed them ${relative(oldest, now)} or later; ${command} reads one now.`;
}

/** Pure. A line for each kind of key in the rows, with what works for such keys. */
export function adviceFor(rows: readonly Orphan[]): readonly string[] {
  return (Object.keys(ADVICE) as AdviceKind[]).flatMap((kind) => {
    const own = rows.filter((row) => kindOfAdvice(row) === kind);
    return own.length === 0 ? [] : [ADVICE[kind](own.length === 1 ? own[0] : undefined)];
  });
}

type AdviceKind = Orphan["kind"] | "Unnamed";

/** Given the only row of the kind, the commands name its key. */
const ADVICE: Readonly<Record<AdviceKind, (only: Orphan | undefined) => string>> = {
  Orphaned: (only) =>
    `Orphaned: delete the key in the console, then remove it from the list: kubectl iam forget-orphan ${keyText(only, "KEY-ID")}`,
  Unnamed: (only) =>
    `Orphaned, with the ID of an attempt: the console does not list keys. Delete the key whose description there contains that ID, if there is one, then: kubectl iam forget-orphan ${keyText(only, "ATTEMPT-ID")}`,
  Pending: (only) =>
    `Pending: do not delete the key. It is delivered once what stops its ApiKey is over: kubectl iam status ${only === undefined ? "APIKEY" : `${only.object} -n ${only.namespace}`}`,
  Unmanaged: () =>
    "Unmanaged: delete the key in the console unless something uses it. It leaves the list with the next read of the account. To expect such keys, set spec.unmanagedKeys: Expect of the ServiceAccount.",
  Unconfirmed: (only) =>
    `Unconfirmed: the console listed the key, and no ApiKey names it now: it is being issued, was forgotten, or has been deleted with its ApiKey. If the next list shows it too, it is reported as unmanaged or orphaned 30 seconds later. To read the list now: kubectl iam reconcile ${only === undefined ? "iamsa/NAME" : `${only.object} -n ${only.namespace}`}`,
  Expected: () =>
    "Expected: issued outside the operator, as spec.unmanagedKeys: Expect of the ServiceAccount allows.",
  Account: () =>
    "Account: created for the ServiceAccount in addition to the account in its status. Delete the account in the console.",
  Namesake: () =>
    "Namesake: an account with the name of the ServiceAccount's account. Find out who created the account; if the operator did, delete the account in the console.",
};

function keyText(only: Orphan | undefined, id: string): string {
  return only === undefined ? `APIKEY ${id}` : `${only.object} ${only.keyId} -n ${only.namespace}`;
}

function kindOfAdvice({ kind, isUnnamed }: Orphan): AdviceKind {
  return isUnnamed === true ? "Unnamed" : kind;
}

/**
 * Pure. Keys of ApiKeys, which may be unknown, then keys of accounts that are not in any ApiKey's status, then accounts.
 * An account that is gone has no keys.
 */
export function findOrphans(
  apiKeys: readonly ApiKey[] | undefined,
  serviceAccounts: readonly ServiceAccount[],
): readonly Orphan[] {
  const orphaned = (apiKeys ?? []).flatMap(({ metadata, status }) =>
    (status?.orphaned ?? []).map(
      (orphan): Orphan => ({
        namespace: metadata.namespace,
        object: `iamkey/${metadata.name}`,
        keyId: orphan.keyId ?? orphan.attemptId,
        kind: "Orphaned",
        observedTime: orphan.observedTime,
        expirationTime: orphan.expirationTime,
        ...(orphan.keyId === undefined ? { isUnnamed: true } : {}),
      }),
    ),
  );
  const own = [...orphaned, ...(apiKeys ?? []).flatMap(undeliverable)];
  const told = new Set(own.flatMap(({ keyId }) => keyId ?? []));
  const existing = serviceAccounts.filter((account) => !isGone(account));
  return [
    ...own,
    ...existing.flatMap((account) => unmanaged(account, told)),
    ...existing.flatMap((account) => (apiKeys ? unconfirmed(account, apiKeys) : [])),
    ...serviceAccounts.flatMap(orphanedAccounts),
  ];
}

function orphanedAccounts(account: ServiceAccount): readonly Orphan[] {
  return (account.status?.orphanedAccounts ?? []).map(({ saId, observedTime, evidence }) => ({
    namespace: account.metadata.namespace,
    object: nameOf(account),
    saId,
    kind: evidence === "Name" ? "Namesake" : "Account",
    observedTime,
    expirationTime: undefined,
  }));
}

/** Keys that the last list shows, and that neither an ApiKey nor the operator's last audit names. */
function unconfirmed(account: ServiceAccount, apiKeys: readonly ApiKey[]): readonly Orphan[] {
  const { metadata, spec, status } = account;
  if (spec?.unmanagedKeys === "Expect") return [];
  const audited = new Set(status?.unmanagedKeys?.map(({ keyId }) => keyId));
  // A longer list of unmanaged keys is cut.
  if (audited.size < (status?.unmanagedKeyCount ?? 0)) return [];
  return unnamedKeyIds(account, apiKeys)
    .filter((keyId) => !audited.has(keyId))
    .map((keyId) => ({
      namespace: metadata.namespace,
      object: nameOf(account),
      keyId,
      kind: "Unconfirmed",
      observedTime: status?.lastKeyListTime,
      expirationTime: undefined,
    }));
}

/** Pure. Accounts whose keys the operator has not compared with a list of the console, and why. */
export function unauditedAccounts(
  accounts: readonly ServiceAccount[],
): readonly { readonly name: string; readonly why: string }[] {
  return accounts.flatMap(({ metadata, status }) => {
    const audit = findCondition(status?.conditions, "KeysManaged");
    if (audit !== undefined && audit.status !== "Unknown") return [];
    const isAbsent =
      audit === undefined && status?.saId === undefined && status?.attempt === undefined;
    if (isAbsent && isReportedOn({ status })) return [];
    const why = audit?.message ?? "the operator has not reported on them yet.";
    return [{ name: `iamsa/${metadata.name}`, why }];
  });
}

/** Pure. ApiKeys with an attempt whose key, if there is one, is not known. */
export function openAttempts(apiKeys: readonly ApiKey[]): readonly string[] {
  return apiKeys
    .filter(({ status }) => status?.attempt !== undefined && status.pending === undefined)
    .map(nameOf);
}

/** Reasons of a Secret that cannot take the pair of a new key. */
const UNDELIVERABLE: ReadonlySet<string | undefined> = new Set([SECRET_REJECTED, SECRET_IMMUTABLE]);

/** A new key of a stalled ApiKey, or of one whose Secret cannot take its pair. */
function undeliverable({ metadata, status }: ApiKey): readonly Orphan[] {
  const { pending, attempt, conditions } = status ?? {};
  const isRejected = UNDELIVERABLE.has(findCondition(conditions, ISSUANCE_ALLOWED)?.reason);
  if (pending === undefined || !(isRejected || isTrue(conditions, "Stalled"))) return [];
  return [
    {
      namespace: metadata.namespace,
      object: `iamkey/${metadata.name}`,
      keyId: pending.keyId,
      kind: "Pending",
      observedTime: attempt?.startTime,
      expirationTime: pending.expirationTime,
    },
  ];
}

/** The unmanaged keys of the operator's last audit, without the keys in `told`. */
function unmanaged(
  { metadata, spec, status }: ServiceAccount,
  told: ReadonlySet<string>,
): readonly Orphan[] {
  const kind = spec?.unmanagedKeys === "Expect" ? "Expected" : "Unmanaged";
  return (status?.unmanagedKeys ?? [])
    .filter(({ keyId }) => !told.has(keyId))
    .map(({ keyId, observedTime, cluster }) => ({
      namespace: metadata.namespace,
      object: `iamsa/${metadata.name}`,
      keyId,
      kind,
      observedTime,
      expirationTime: undefined,
      ...(cluster === undefined ? {} : { cluster }),
    }));
}
