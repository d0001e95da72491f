/** [S19, L10] Logins: one at a time, a pause after three failures, none where a second factor is asked for. */

import { secretType } from "../../../src/kube/resource-types.ts";
import { HOUR, MINUTE } from "../../../src/util/time.ts";
import { textAt, treeAt } from "../../api-server/tree.ts";
import type { CallRecord } from "../journal.ts";
import { OPERATOR_NAMESPACE } from "../places.ts";
import type { SimWorld } from "../sim-world.ts";
import type { CreateWatcher } from "./watcher.ts";

const TOLERATED = 3;

/** What one process has tried with one set of credentials. */
interface Tries {
  readonly epoch: number;
  last: CallRecord | undefined;
  /** Whether the last one was met by a demand for a second factor, if it arrived. */
  askedForMore: boolean;
  failures: number;
  needsSecondFactor: boolean;
}

/** Holds for worlds with one connection, as those of the scenarios are. */
export const logins: CreateWatcher = (world) => {
  const tries = new Map<string, Tries>();
  /** Counts changes of credentials and connections: each is a fresh start. */
  let epoch = 0;
  return {
    onChange: ({ change, byOperator }) => {
      const { kind } = change.kind.type;
      if (!byOperator && (kind === "Secret" || kind.endsWith("Connection"))) epoch += 1;
      return undefined;
    },
    onCall: (call) => {
      if (call.operation !== "login") return undefined;
      const known = tries.get(call.process);
      const before =
        known?.epoch === epoch
          ? known
          : { epoch, last: undefined, askedForMore: false, failures: 0, needsSecondFactor: false };
      tries.set(call.process, before);
      count(before);
      const wrong = judge(before, call);
      before.last = call;
      before.askedForMore = userOf(world)?.mfaRequired === true;
      return wrong;
    },
  };
};

/** Takes in how the last login ended. */
function count(tries: Tries): void {
  const { last } = tries;
  if (last?.outcome === undefined) return;
  const isSuccess = last.outcome === "200" && !hasFailed(last);
  tries.needsSecondFactor = isSuccess && tries.askedForMore;
  if (hasFailed(last)) tries.failures += 1;
  else if (isSuccess) tries.failures = 0;
}

/** Whether the login was answered without a token: no answer, 429 and 5xx say nothing about the credentials. */
function hasFailed({ outcome, fault }: CallRecord): boolean {
  const status = Number(outcome);
  if (status === 200) return ANSWERED_OTHERWISE.has(fault?.kind ?? "");
  return outcome === "tooLarge" || (status < 500 && status !== 429);
}

const ANSWERED_OTHERWISE = new Set(["Answer", "Garble", "Intercept"]);

/** Whom the stored credentials name. */
function userOf(world: SimWorld) {
  const secret = world.get(secretType, "console-login", OPERATOR_NAMESPACE);
  const name = textAt(treeAt(secret ?? {}, "data"), "username") ?? "";
  return world.console.world.users.get(Buffer.from(name, "base64").toString("utf8"));
}

function judge({ last, failures, needsSecondFactor }: Tries, call: CallRecord): string | undefined {
  if (last === undefined) return undefined;
  if (last.outcome === undefined) return "a login was sent while another one was under way";
  if (needsSecondFactor) return "a login was tried again although a second factor is asked for";
  if (failures < TOLERATED) return undefined;
  const pause = Math.min(MINUTE * 2 ** (failures - TOLERATED), HOUR);
  return call.sentAt - last.sentAt >= pause
    ? undefined
    : `a login was sent ${Math.round(call.sentAt - last.sentAt)} ms after failure ${failures} in a row`;
}
