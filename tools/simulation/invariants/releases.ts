/** [S11, S20] What may be unbound from an account, and on whose word. */
import { recordedPolicies } from "../../../src/accounts/recorded-policies.ts";
import type { PolicyBinding } from "../../../src/api/policy-binding.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import { MINUTE } from "../../../src/util/time.ts";
import type { Change } from "../../iam-server/world.ts";
import type { CallRecord } from "../journal.ts";
import { accountsOf, bindingsOf } from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

/** What the stored objects allowed at some time. */
interface Word {
  /** Until when it held; open for the latest. */
  until: number;
  readonly wanted: ReadonlySet<string>;
  /** Policies that a PolicyBinding has on record and wants no longer, or that go with it. */
  readonly released: ReadonlySet<string>;
  /** The account is suspended, or goes and revokes. */
  readonly everything: boolean;
  /** `foreignPolicies: Remove` */
  readonly foreign: boolean;
  readonly empty: boolean;
}

type Replacement = Extract<Change, { kind: "bindingsReplaced" }>;

/** A PUT that was decided on a moment ago may still arrive. */
const MEMORY_MS = MINUTE;

export const releases: CreateWatcher = (world) => {
  const words = new Map<string, Word[]>();
  /** Policies by account that calls of the operator have bound. */
  const ours = new Map<string, Set<string>>();
  /**
   * Policies by account that were bound again without being declared: by a call that a gateway had put off, or after a
   * restart because of a list that was behind.
   */
  const returned = new Map<string, Set<string>>();

  /** Policies by account that a PolicyBinding was to unbind when it was deleted. */
  const deleted = new Map<string, Set<string>>();

  return {
    onChange: ({ change }) => {
      const { kind } = change.kind.type;
      if (kind === "ServiceAccount" || kind === "PolicyBinding") listen();
      return undefined;
    },
    onConsoleChange: (change, byOperator) => {
      if (change.kind !== "bindingsReplaced" || !byOperator) return undefined;
      const known = ownPoliciesAfter(change);
      if (world.journal.putOff(world.kernel.elapsed) === undefined) return judge(change, known);
      const { tpn, before, after } = change;
      for (const id of after) if (!before.includes(id)) noteReturned(tpn, id);
      return undefined;
    },
  };

  function ownPoliciesAfter({ tpn, before, after }: Replacement): Set<string> {
    const known = ours.get(tpn) ?? new Set();
    ours.set(tpn, known);
    const bound = after.filter((id) => !before.includes(id));
    const wanted = words.get(tpn)?.at(-1)?.wanted;
    for (const id of bound) {
      known.add(id);
      if (wanted?.has(id)) returned.get(tpn)?.delete(id);
      else noteReturned(tpn, id);
    }
    return known;
  }

  function noteReturned(tpn: string, id: string): void {
    returned.set(tpn, (returned.get(tpn) ?? new Set()).add(id));
  }

  function listen(): void {
    const { elapsed } = world.kernel;
    const bindings = bindingsOf(world);
    for (const account of accountsOf(world)) {
      const { tpn } = account.status ?? {};
      if (tpn === undefined) continue;
      const past = words.get(tpn) ?? [];
      const last = past.at(-1);
      if (last !== undefined) last.until = elapsed;
      const own = bindings.filter((each) => names(each, account));
      const going = new Set([
        ...(deleted.get(tpn) ?? []),
        ...own.filter(isDeleted).flatMap((each) => releasedBy(each, account)),
      ]);
      deleted.set(tpn, going);
      words.set(tpn, [
        ...past.filter(({ until }) => until >= elapsed - MEMORY_MS),
        wordOf(account, own, going),
      ]);
    }
  }

  function heardOf(tpn: string): readonly Word[] {
    const since = world.kernel.elapsed - MEMORY_MS;
    return (words.get(tpn) ?? []).filter(({ until }) => until >= since);
  }

  function judge({ tpn, before, after }: Replacement, known: Set<string>): string | undefined {
    const heard = heardOf(tpn);
    const lost = before.filter((id) => !after.includes(id) && !returned.get(tpn)?.has(id));
    if (heard.some(({ everything }) => everything) || lost.length === 0) return undefined;
    if (after.length === 0 && !heard.some(({ empty }) => empty))
      return "unbound everything without a person's word";
    const wrong = lost.find((id) =>
      heard.every(({ released, foreign }) => !released.has(id) && !(foreign && !known.has(id))),
    );
    if (wrong === undefined) return undefined;
    return known.has(wrong)
      ? `unbound ${wrong}, which no stored PolicyBinding gives up`
      : `unbound ${wrong}, which is somebody else's`;
  }
};

function names({ metadata, spec }: PolicyBinding, account: ServiceAccount): boolean {
  const { namespace, name } = account.metadata;
  return metadata.namespace === namespace && spec.serviceAccountRef.name === name;
}

function isDeleted({ metadata }: PolicyBinding): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function wordOf(
  account: ServiceAccount,
  own: readonly PolicyBinding[],
  deleted: ReadonlySet<string>,
): Word {
  const { metadata, spec } = account;
  const { bindings } = account.status ?? {};
  const wanted = own.flatMap((each) => (isDeleted(each) ? [] : each.spec.policyIds));
  const late = [
    // A call without a response may have bound them late, after they were withdrawn.
    ...(bindings?.unansweredSync?.policyIds ?? []),
    ...recordedPolicies(bindings, "Unrevoked").filter((id) => deleted.has(id)),
  ].filter((id) => !wanted.includes(id));
  const revokes =
    (spec.deletionPolicy ?? (spec.saId === undefined ? "Revoke" : "Retain")) !== "Retain";
  return {
    until: Number.POSITIVE_INFINITY,
    wanted: new Set(wanted),
    released: new Set([...late, ...own.flatMap((each) => releasedBy(each, account))]),
    everything: spec.access === "Revoked" || (metadata.deletionTimestamp !== undefined && revokes),
    foreign: spec.foreignPolicies === "Remove",
    empty: late.length > 0 || own.some(isDeleted),
  };
}

/** If the record of a PolicyBinding is lost, that of its account counts. */
function releasedBy(
  { metadata, spec, status }: PolicyBinding,
  account: ServiceAccount,
): readonly string[] {
  const recorded = recordedPolicies(account.status?.bindings, "Declared", "Unrevoked");
  const applied = status?.appliedPolicyIds ?? spec.policyIds.filter((id) => recorded.includes(id));
  if (metadata.deletionTimestamp === undefined)
    return applied.filter((id) => !spec.policyIds.includes(id));
  return spec.deletionPolicy === "Retain" ? [] : applied;
}

/** [S11] No PUT from what was not read: of all that it is decided on, there is a recent answer, and a whole one. */
export const completeReads: CreateWatcher = (world) => {
  const looks = new Map<string, CallRecord[]>();
  const isWhole = ({ outcome, fault, operation }: CallRecord) =>
    outcome === "200" &&
    // What nobody else has bound anything to may be written by the record alone.
    (fault?.kind !== "Garble" || (operation === "listBindings" && isAllOurs(accountsOf(world))));
  return {
    onCall: (call) => {
      const { operation, process, sentAt, tpn = "" } = call;
      if (READS.includes(operation)) {
        const id = `${process} ${operation} ${tpn}`;
        const recent = (looks.get(id) ?? []).filter((look) => look.sentAt > sentAt - MEMORY_MS);
        looks.set(id, [...recent, call]);
      }
      const own = accountsOf(world).filter(({ status }) => (status?.tpn ?? tpn) === tpn);
      if (operation !== "syncBindings" || isLeaving(own)) return undefined;
      const looksBy = (read: string) =>
        looks.get(`${process} ${read} ${read === "listBindings" ? tpn : ""}`) ?? [];
      const missing = READS.find((read) => !looksBy(read).some(isWhole));
      if (missing !== undefined) return `bindings were written without an answer to ${missing}`;
      // Nobody else asks the console for them: the last answer is the one that was decided on.
      const last = looksBy("listBindings").findLast(({ outcome }) => outcome);
      return last && isWhole(last) ? undefined : "bindings were written after a read that failed";
    },
  };
};

const READS = ["listBindings", "list policybindings", "get serviceaccounts"];

/** Who unbinds everything because the account goes, or its object has gone, need know nothing about it. */
function isLeaving(accounts: readonly ServiceAccount[]): boolean {
  return accounts.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
}

function isAllOurs(accounts: readonly ServiceAccount[]): boolean {
  return accounts.every(({ status }) => status?.origin === "Created");
}
