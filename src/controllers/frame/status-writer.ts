import { isDeepStrictEqual } from "node:util";
import { API_VERSION, type IamObject } from "../../api/meta.ts";
import { isKubeError, type KubeErrorCode } from "../../kube/errors.ts";
import type { ResourceType } from "../../kube/resource.ts";
import type { Context } from "./context.ts";
import type { StatusWriteOptions } from "./rules/report.ts";
import { StatusUnanswered } from "./status-write-failed.ts";

const UNANSWERED: ReadonlySet<KubeErrorCode> = new Set([
  "Timeout",
  "Unavailable",
  "MalformedResponse",
]);

export interface StatusWriteContext extends Pick<Context, "kube"> {
  /**
   * Uids of objects whose last status may or may not be stored, because the write got no answer. The watch may show
   * that status later, so the next status is written even if it equals the known status.
   */
  readonly unanswered?: Set<string>;
}

/**
 * Makes `status` the whole status of `object` by one server-side apply, unless it already is. Returns the written
 * object. The API server does not compare the uid in a write of a status, only the resource version, so the known
 * version is the precondition. If the object has changed and `resourceVersion` was not given, the object is read again
 * to compare its uid, and then written anyway.
 */
export async function writeStatus<T extends IamObject<unknown, unknown>>(
  { kube, unanswered }: StatusWriteContext,
  type: ResourceType<T>,
  object: T,
  status: NonNullable<T["status"]>,
  options: StatusWriteOptions = {},
): Promise<T> {
  const { resourceVersion, foreignFields = [], fieldManager, signal } = options;
  const { name, namespace, uid, resourceVersion: known } = object.metadata;
  const wanted = without(foreignFields, asJson(status));
  const isKnown = isDeepStrictEqual(wanted, without(foreignFields, object.status ?? {}));
  if (isKnown && !unanswered?.has(uid)) return object;
  const apply = (version: string | undefined) => {
    const body = {
      apiVersion: API_VERSION,
      kind: type.kind,
      metadata: {
        name,
        ...(namespace === undefined ? {} : { namespace }),
        uid,
        ...(version === undefined ? {} : { resourceVersion: version }),
      },
      status: wanted,
    };
    return kube.apply<T>(type, body, {
      subresource: "status",
      ...(fieldManager === undefined ? {} : { fieldManager }),
      ...(signal === undefined ? {} : { signal }),
    });
  };
  const written = await apply(resourceVersion ?? known)
    .catch((error: unknown) => {
      if (resourceVersion !== undefined || !isKubeError(error, "Conflict")) throw error;
      return apply(undefined);
    })
    .catch((error: unknown) => {
      if (!isKubeError(error) || !UNANSWERED.has(error.code)) throw error;
      unanswered?.add(uid);
      throw new StatusUnanswered(error);
    });
  unanswered?.delete(uid);
  return written;
}

/** The status as it is sent: without undefined values. */
function asJson(status: object): object {
  return JSON.parse(JSON.stringify(status));
}

function without(fields: readonly string[], status: object): object {
  if (fields.length === 0) return status;
  return Object.fromEntries(Object.entries(status).filter(([field]) => !fields.includes(field)));
}
