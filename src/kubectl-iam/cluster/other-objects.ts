/** Secrets, ConfigMaps and Namespaces of files, which decide what the operator may do and with which login. */

import { isDeepStrictEqual } from "node:util";
import { apiVersionOf } from "../../kube/client/api-path.ts";
import type { KubeReader } from "../../kube/client/reader.ts";
import { type KubeObject, keyOf } from "../../kube/resource.ts";
import { configMapType, namespaceType, secretType } from "../../kube/resource-types.ts";
import { applied } from "./apply.ts";
import type { FileObject } from "./given-objects.ts";

type Texts = Readonly<Record<string, string>>;

interface Entries {
  readonly data?: Texts;
  readonly binaryData?: Texts;
}
type OtherObject = FileObject & Entries;

export interface AppliedOther {
  readonly object: OtherObject;
  /** Whether the stored object is absent or differs. */
  readonly isChange: boolean;
}

const types = [secretType, configMapType, namespaceType];

/** These objects as `kubectl apply` would leave them; objects of other kinds are left out. Rejects with KubeError. */
export async function othersAsApplied(
  kube: Pick<KubeReader, "get">,
  objects: readonly FileObject[],
): Promise<readonly AppliedOther[]> {
  const found = objects.map(async (object) => {
    const type = types.find(
      (each) => each.kind === object.kind && apiVersionOf(each) === object.apiVersion,
    );
    if (type === undefined) return [];
    const stored = await kube.get<KubeObject>(type, keyOf(object));
    const whole = asStored(stored === undefined ? object : applied(stored, object));
    return [{ object: whole, isChange: !isDeepStrictEqual(partsOf(stored), partsOf(whole)) }];
  });
  return (await Promise.all(found)).flat();
}

/** All of it but what only the API server writes. */
function partsOf(object: (KubeObject & Entries) | undefined): unknown {
  if (object === undefined) return undefined;
  const { metadata, data = {}, binaryData = {}, ...rest } = object;
  const { labels = {}, annotations = {} } = metadata;
  return { ...rest, data, binaryData, labels, annotations };
}

/** What the API server makes of fields that it only accepts or adds. */
function asStored({
  stringData,
  ...object
}: OtherObject & { readonly stringData?: Texts }): OtherObject {
  const { kind, metadata } = object;
  if (kind === "Namespace") {
    const labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name };
    return { ...object, metadata: { ...metadata, labels } };
  }
  if (stringData === undefined) return object;
  const encoded = Object.entries(stringData).map(
    ([key, text]) => [key, Buffer.from(text).toString("base64")] as const,
  );
  return { ...object, data: { ...object.data, ...Object.fromEntries(encoded) } };
}
