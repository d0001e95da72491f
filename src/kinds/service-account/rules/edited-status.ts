/** What to do if a status names the account of something else: to create the object again would end keys in use. */
import type { AccountSnapshot } from "./snapshot.ts";

export function ifStatusWasEdited({ object }: Pick<AccountSnapshot, "object">): string {
  const { namespace, name } = object.metadata;
  return `If the status was edited or restored, correct its saId; status.current.saId of an ApiKey of this object shows it: kubectl patch iamsa ${name} -n ${namespace} --subresource=status --type=merge -p '{"status":{"saId":"CORRECT-ID"}}'.`;
}
