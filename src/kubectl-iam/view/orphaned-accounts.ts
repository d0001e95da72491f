/** Additional accounts in the console that were created for a ServiceAccount, as far as its status shows. Pure. */
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Instant } from "../../util/time.ts";
import { relative } from "./time.ts";

interface OrphanedAccount {
  readonly saId: string;
  readonly why: string;
}

export function orphanedAccounts(
  { status }: ServiceAccount,
  now: Instant,
): readonly OrphanedAccount[] {
  return (status?.orphanedAccounts ?? []).map(({ saId, evidence, observedTime }) => {
    const why =
      evidence === "Name" ? "has the name of this account" : "created for this object too";
    return { saId, why: `${why}, first seen ${relative(observedTime, now)}` };
  });
}

/** What to do about them; `undefined` if the status names none. */
export function adviceOnOrphanedAccounts({ status }: ServiceAccount): string | undefined {
  const orphaned = status?.orphanedAccounts ?? [];
  const ids = (isByName: boolean) =>
    orphaned
      .filter(({ evidence }) => (evidence === "Name") === isByName)
      .map(({ saId }) => saId)
      .join(", ");
  const created = ids(false);
  const named = ids(true);
  const advice = [
    created && `Delete in the console what was created for this object too: ${created}.`,
    named &&
      `Find out who created ${named}, with the name of this account; delete in the console what the operator created.`,
  ].filter((each) => each !== "");
  return advice.length === 0 ? undefined : advice.join(" ");
}
