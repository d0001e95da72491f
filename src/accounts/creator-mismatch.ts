import type { IamServiceAccount } from "../console/model.ts";
import { keyText, type ObjectKey } from "../kube/resource.ts";
import { creatorOf, isOfObject } from "../resources/marker.ts";
import { isSpelledLike } from "../util/spelling.ts";

/** The object that an account was created for, and the account's name, if it is known. */
export interface Creator {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly name: string | undefined;
}

/**
 * What shows that an account was not created for the object: the maker in its description, or its name. Values that the
 * console does not return prove nothing. A description without the operator's marker proves nothing either: users edit it.
 */
export function creatorMismatch(
  { name, description = "" }: IamServiceAccount,
  creator: Creator,
): "Maker" | "Name" | undefined {
  // The object's own marker outranks the name: consoles store names in another spelling.
  if (isOfObject(description, creator.key, creator.uid)) return undefined;
  // The status names the account, so the marker's cluster does not matter: it may have been renamed.
  const maker = creatorOf(description);
  if (maker !== undefined && maker !== keyText(creator.key)) return "Maker";
  const isUnknown = name === undefined || creator.name === undefined;
  return isUnknown || isSpelledLike(name, creator.name) ? undefined : "Name";
}
