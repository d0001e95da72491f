/** Whether the console's account is the object's, for the objects that use it. Pure. */
import type { Ownership } from "../../../api/service-account.ts";
import { judgeAnswer } from "./account.ts";
import { otherOwnerOf } from "./owner.ts";
import type { AccountSnapshot } from "./snapshot.ts";

/** As this run has found it; otherwise as stored, whatever else is wrong with the object now. */
export function ownershipOf(snapshot: AccountSnapshot): Ownership | undefined {
  const { account, spec, object, became } = snapshot;
  const saId = account?.saId ?? spec.saId;
  if (saId !== undefined && otherOwnerOf(saId, snapshot) !== undefined) return "Claimed";
  const judged = judgeAnswer(snapshot);
  if (judged !== undefined) return judged.ownership;
  if (became !== undefined) return "Owned";
  return account?.saId === object.status?.saId ? object.status?.ownership : undefined;
}
