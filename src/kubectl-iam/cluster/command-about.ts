/** Suggests a command for an object. The command works in any current namespace. Pure. */
import type { KindName } from "../../api/kinds.ts";
import { type AnyObject, toText } from "./kinds.ts";

/** `kubectl iam resume iamkey/ci-bot-key -n team-a` */
export function commandAbout(verb: string, { kind, metadata }: AnyObject): string {
  const { name, namespace } = metadata;
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  return `kubectl iam ${verb} ${toText({ kind: kind as KindName, name })}${where}`;
}
