/** The condition IssuanceAllowed of an ApiKey: whether the next key can be issued. */
import type { Condition } from "./conditions.ts";

/** The condition that is False while the next key cannot be issued. */
export const ISSUANCE_ALLOWED = "IssuanceAllowed";

/** The reason of a key that can be issued, but not in a rotation window. */
export const OUTSIDE_WINDOWS = "OutsideWindows";

/** The reason of a Secret that takes no other pair. */
export const SECRET_IMMUTABLE = "SecretImmutable";

/**
 * A shell command that creates a Secret again as it is, but without `immutable`, so that no other key is needed. If the
 * API server refuses the new Secret, for example for a quota, the pair is still in the file.
 */
export function remakeMutable(namespace: string, name: string): string {
  const file = `${name}.yaml`;
  return `(umask 077 && kubectl get secret -n ${namespace} ${name} -o yaml | sed '/^immutable:/d' > ${file} && kubectl replace --force -f ${file} && rm ${file})`;
}

/** The reason of a Secret that the API server does not accept. */
export const SECRET_REJECTED = "SecretRejected";

const PAUSES: ReadonlySet<string> = new Set(["Suspended", "PlanOnly"]);

/** Whether an object with this reason waits because a person has asked for that. */
export function isPause(reason: string): boolean {
  return PAUSES.has(reason);
}

/** Whether a person has asked the operator to issue no key for now. */
export function isPaused({ status, reason }: Pick<Condition, "status" | "reason">): boolean {
  return status === "False" && isPause(reason);
}
