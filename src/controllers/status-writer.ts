import { isDeepStrictEqual } from "node:util";
import { API_VERSION, type IamObject } from "../api/meta.ts";
import type { ResourceType } from "../kube/resource.ts";
import type { Store } from "../kube/store.ts";
import type { Context } from "./context.ts";

export interface StatusWriteOptions {
  /** Precondition (Conflict) for writes that must build on exactly this state, such as an intent. */
  readonly resourceVersion?: string;
  /** Fields of the status that another field manager owns: neither compared nor written. */
  readonly foreignFields?: readonly string[];
  /** Defaults to the operator's own field manager. */
  readonly fieldManager?: string;
  readonly signal?: AbortSignal;
}

/**
 * Makes `status` the whole status of `object` by one server-side apply, unless it already is. The uid is a
 * precondition, so that a re-created object never inherits a status. Answers the object as it is then.
 */
export async function writeStatus<T extends IamObject<unknown, unknown>>(
  context: Pick<Context, "kube">,
  type: ResourceType<T>,
  store: Pick<Store<T>, "noteWrite">,
  object: T,
  status: NonNullable<T["status"]>,
  options: StatusWriteOptions = {},
): Promise<T> {
  const { resourceVersion, foreignFields = [], fieldManager, signal } = options;
  const wanted = withoutFields(status, foreignFields);
  if (isDeepStrictEqual(wanted, withoutFields(object.status ?? {}, foreignFields))) return object;
  const { name, namespace, uid } = object.metadata;
  const body = {
    apiVersion: API_VERSION,
    kind: type.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    status: wanted,
  };
  const written = await context.kube.apply<T>(type, body, {
    subresource: "status",
    ...(fieldManager === undefined ? {} : { fieldManager }),
    ...(signal === undefined ? {} : { signal }),
  });
  store.noteWrite(written);
  return written;
}

/** As it would travel: without undefined values and without the fields named. */
function withoutFields(status: object, fields: readonly string[]): object {
  const copy: Record<string, unknown> = JSON.parse(JSON.stringify(status));
  return Object.fromEntries(Object.entries(copy).filter(([field]) => !fields.includes(field)));
}
