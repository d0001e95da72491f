import type { KindName } from "../../api/kinds.ts";
import { GROUP } from "../../api/meta.ts";
import type { Change } from "./change.ts";
import { type AnyObject, kindOf, toText, typeOf } from "./kinds.ts";

/** A change to one of the operator's custom resources. */
export function changeOf(
  { kind, metadata }: AnyObject,
  patch: object,
  done: string,
  subresource?: "status",
): Change {
  return {
    type: typeOf(kind as KindName),
    label: toText({ kind: kind as KindName, name: metadata.name }),
    resource: `${kindOf(kind).plural}.${GROUP}`,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    patch,
    done,
    ...(subresource === undefined ? {} : { subresource }),
  };
}
