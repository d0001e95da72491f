/** Whether the CRDs in the cluster have every field that this version reads and writes. */
import { type FieldSchema, fieldPaths, fieldPathsOf } from "../api/field-paths.ts";
import { kinds } from "../api/kinds.ts";
import { GROUP, VERSION } from "../api/meta.ts";
import type { KubeApi } from "../kube/client/api-call.ts";
import { readServedSchemas } from "../kube/client/served-schemas.ts";
import { isKubeError } from "../kube/errors.ts";
import type { Log } from "../util/log.ts";
import { type Instant, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { truncateList } from "../util/truncate-list.ts";

export interface ServedFields {
  /** Why the operator cannot work yet; `undefined` once no field is missing. */
  notReady(): string | undefined;
  /** Resolves once no field is missing, or the fields cannot be compared, or the signal is aborted. */
  untilComplete(signal: AbortSignal): Promise<void>;
}

export interface ServedFieldsOptions {
  readonly api: KubeApi;
  readonly log: Log;
  /** Whether the objects of every kind were listed, so that a kind without a schema is served nevertheless. */
  readonly isListed: () => boolean;
}

/** The first pause; each one is twice as long as the one before, up to the longest. */
const FIRST_PAUSE_MS = SECOND / 2;
const LONGEST_PAUSE_MS = 2 * SECOND;
const MAX_NAMED = 10;

/**
 * The API server drops fields that its CRDs do not have. Without the record of an attempt, for example, the operator
 * would issue a key that no status names. So it changes nothing until every field is there.
 */
export function createServedFields({ api, log, isListed }: ServedFieldsOptions): ServedFields {
  let reason: string | undefined = "the CRDs have not been compared with this version";
  /** As the last failure said. */
  let retryAt: Instant | undefined;

  const compare = async (signal: AbortSignal): Promise<string | undefined> => {
    const served = await readServedSchemas(api, { group: GROUP, version: VERSION }, signal);
    const missing = missingFields(served);
    if (missing.length > 0) {
      const message = `the CRDs lack fields of this version: ${truncateList(missing, MAX_NAMED)}`;
      if (message !== reason)
        log.error({ missing }, "the CRDs are older than the operator; upgrade them");
      return message;
    }
    const unknown = kinds.find(({ kind }) => !served.has(kind));
    return unknown === undefined || isListed() ? undefined : `${unknown.kind} is not served`;
  };
  const onError = (error: unknown): string | undefined => {
    const err = toError(error);
    retryAt = isKubeError(error) ? error.retryAt : undefined;
    const isHidden = isKubeError(error, "NotFound") || isKubeError(error, "Forbidden");
    const canWork = isHidden && isListed();
    if (canWork || err.message !== reason)
      log.warn({ err }, "cannot compare the CRDs with this version");
    return canWork ? undefined : err.message;
  };
  return {
    notReady: () => reason,
    untilComplete: async (signal) => {
      for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs *= 2) {
        retryAt = undefined;
        reason = await compare(signal).catch(onError);
        if (reason === undefined) return;
        const { clock } = api;
        const askedMs = retryAt === undefined ? 0 : retryAt - clock.now();
        const restMs = Math.max(Math.min(pauseMs, LONGEST_PAUSE_MS), askedMs);
        await clock.sleep(restMs, signal).catch(() => undefined);
      }
    },
  };
}

/** Computed when it is first needed, and once for all processes of a simulation. */
let own: ReadonlyMap<string, readonly string[]> | undefined;

function missingFields(served: ReadonlyMap<string, FieldSchema>): readonly string[] {
  own ??= new Map(kinds.map((kind) => [kind.kind, fieldPathsOf(kind)]));
  return [...own].flatMap(([kind, wanted]) => {
    const schema = served.get(kind);
    if (schema === undefined) return [];
    const found = new Set(fieldPaths(schema));
    return wanted.filter((path) => !found.has(path)).map((path) => `${kind}.${path}`);
  });
}
