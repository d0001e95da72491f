/** [L9, L10] How soon, and how often, a refused call is made again. */
import { HOUR, SECOND } from "../../../src/util/time.ts";
import { textAt, treeAt } from "../../api-server/tree.ts";
import type { CallRecord } from "../journal.ts";
import type { SimWorld } from "../sim-world.ts";
import { WATCH_LATENCY_MS } from "../watch-network.ts";
import type { CreateWatcher } from "./watcher.ts";

function idOf({ process, server, operation, target }: CallRecord): string {
  return `${process} ${server} ${operation} ${target}`;
}

/** Whoever waits longer loses the lease. */
const LEASE_PATIENCE_MS = 5 * SECOND;
/** Calls that several controllers make, each in its own time: what one was told another one does not know. */
const SHARED: ReadonlySet<string> = new Set([
  "apply serviceaccounts/status",
  "get serviceaccounts",
  "get policybindings",
  "list policybindings",
  "getServiceAccount",
  "searchActions",
]);

/** A change takes up to so long until the operator hears of it. */
function watchMs({ faults }: SimWorld): number {
  const [, usual] = WATCH_LATENCY_MS;
  const late = [...faults.struck].map((each) =>
    each.on === "watch" && each.fault.kind === "Late" ? each.fault.ms : 0,
  );
  return usual + Math.max(0, ...late);
}

/** A run that began before it heard of the change may make a call so much later, after calls to the console. */
const RUN_MS = 250;

/**
 * [L9] The same call does not come back before `Retry-After` is over, unless somebody changes something in the namespace
 * meanwhile (of a call to the console: anywhere), or has changed it so shortly before that the refused call was not about
 * it yet. A stopping process is exempt while it writes pairs that only its memory has, and when it releases the lease.
 */
export const retryAfter: CreateWatcher = (world) => {
  const asked = new Map<string, CallRecord>();
  /** When somebody else last changed an object, by namespace. */
  const changedAt = new Map<string, number>();
  const lastChange = ({ server, target }: CallRecord) =>
    server === "iam"
      ? Math.max(...changedAt.values())
      : (changedAt.get(namespaceOf(target)) ?? Number.NEGATIVE_INFINITY);
  const isLastWrite = ({ operation, process }: CallRecord) =>
    (operation === "create secrets" || isOfLease(operation)) &&
    [...world.replicas.values()].some(
      (replica) => replica.process.name === process && replica.isStopping,
    );
  return {
    onChange: ({ change, byOperator }) => {
      const namespace = textAt(treeAt(change.object, "metadata"), "namespace") ?? "";
      if (!byOperator) changedAt.set(namespace, world.kernel.elapsed);
      return undefined;
    },
    onCall: (call) => {
      if (SHARED.has(call.operation) || isLastWrite(call)) return undefined;
      const id = idOf(call);
      const refused = asked.get(id);
      asked.delete(id);
      if (askedMs(call) > 0) asked.set(id, call);
      const isAsked = refused && lastChange(call) + watchMs(world) + RUN_MS > refused.sentAt;
      return refused && !isAsked ? tooSoon(refused, call) : undefined;
    },
  };
};

/** Empty for an object without a namespace. */
function namespaceOf(target: string): string {
  return target.includes("/") ? (target.split("/")[0] ?? "") : "";
}

function isOfLease(operation: string): boolean {
  return operation.endsWith(" leases");
}

function tooSoon(refused: CallRecord, call: CallRecord): string | undefined {
  // Counted from when it was sent: the answer came later still. Where none came, nothing was asked for.
  const waited = Math.round(call.sentAt - refused.sentAt);
  const wanted = /^[0-9]+$/.test(refused.outcome ?? "") ? askedMs(refused) : 0;
  return waited >= wanted
    ? undefined
    : `${call.operation} was sent again after ${waited} ms, ${wanted} ms were asked for`;
}

function askedMs({ fault, operation }: CallRecord): number {
  if (fault?.kind !== "Refuse" || fault.retryAfter === undefined) return 0;
  const ms = fault.retryAfter * SECOND;
  return isOfLease(operation) ? Math.min(ms, LEASE_PATIENCE_MS) : ms;
}

const MOST_AN_HOUR = 60;
/** During an outage, each connection asks every 12 seconds whether the console answers again: nothing else has to. */
const PROBE = "searchActions";
const MOST_PROBES_AN_HOUR = 340;

/** [L10] What is refused again and again is tried less and less. */
export const refusedOften: CreateWatcher = () => {
  const refused = new Map<string, CallRecord[]>();
  return {
    onCall: (call) => {
      if (call.fault?.kind !== "Refuse" || isOfLease(call.operation)) return undefined;
      const id = idOf(call);
      const recent = (refused.get(id) ?? []).filter(({ sentAt }) => sentAt > call.sentAt - HOUR);
      recent.push(call);
      refused.set(id, recent);
      const most = call.operation === PROBE ? MOST_AN_HOUR + MOST_PROBES_AN_HOUR : MOST_AN_HOUR;
      return recent.length <= most
        ? undefined
        : `${call.operation} ${call.target} was refused more than ${most} times in an hour`;
    },
  };
};
