/** A command to suggest about an object, which works wherever it is pasted. Pure. */
import type { KindName } from "../../api/kinds.ts";
import { type AnyObject, toText } from "./kinds.ts";

/** `kubectl iam resume iamkey/ci-bot-key -n team-a` */
export function commandAbout(verb: string, { kind, metadata }: AnyObject): string {
  const { name, namespace } = metadata;
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  return `kubectl iam ${verb} ${toText({ kind: kind as KindName, name })}${where}`;
}
