import { budgetWindow, caps } from "./caps.ts";
import { earlyRotation } from "./early-rotation.ts";
import { evidence, readyIsTrue } from "./evidence.ts";
import { fence } from "./fence.ts";
import { keysGivenUpInTime } from "./given-up-keys.ts";
import {
  damageIsRepaired,
  deletionsEnd,
  expiredKeysLeave,
  forecastsComeTrue,
  newsArrive,
  renewalsAreInTime,
} from "./in-time.ts";
import { keysAccountedInTime } from "./key-accounting.ts";
import { leaderFailover } from "./leader-failover.ts";
import { logins } from "./logins.ts";
import { keysHaveTheirAccount, namedKeysAreManaged, permissionsStay } from "./moves.ts";
import { preconditions } from "./preconditions.ts";
import { completeReads, releases } from "./releases.ts";
import { retirement } from "./retirement.ts";
import { refusedOften, retryAfter } from "./retries.ts";
import type { CreateWatcher } from "./watcher.ts";

/** Every invariant that remembers, by name. */
export const watchers: Readonly<Record<string, CreateWatcher>> = {
  "S2 Ready is true": readyIsTrue,
  "S3 retirement": retirement,
  "S4 caps": caps,
  "S4 window": budgetWindow,
  "S5 keys accounted in time": keysAccountedInTime,
  "S5 key accounts": keysHaveTheirAccount,
  "S5 managed": namedKeysAreManaged,
  "S8 fence": fence,
  "S9 preconditions": preconditions,
  "S11 S20 releases": releases,
  "S11 reads": completeReads,
  "S11 evidence": evidence,
  "S17 early rotation": earlyRotation,
  "S17 L2 renewal": renewalsAreInTime,
  "S19 logins": logins,
  "S21 permissions stay": permissionsStay,
  "L2 forecast": forecastsComeTrue,
  "L4 leader failover": leaderFailover,
  "L5 repair": damageIsRepaired,
  "L6 deletion": deletionsEnd,
  "L6 given up": keysGivenUpInTime,
  "L7 expired": expiredKeysLeave,
  "L8 news": newsArrive,
  "L9 Retry-After": retryAfter,
  "L10 refusals": refusedOften,
};
