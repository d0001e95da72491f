/** Follows events as they come. */
import { isKubeError } from "../../kube/errors.ts";
import { splitLines } from "../../kube/lines.ts";
import { openWatch } from "../../kube/watch-stream.ts";
import { SECOND } from "../../util/time.ts";
import type { Cluster } from "./cluster.ts";
import { type EventObject, eventType, type IamEvent, toIamEvent } from "./events.ts";

const MAX_LINE_BYTES = 2 ** 21;
const WATCH_SECONDS = 300;
const HEAD_MS = 10 * SECOND;
const PAUSE_MS = SECOND;

/** Every event from now on, until the signal; a watch that ends is begun again. Rejects with KubeError. */
export async function* followEvents(
  cluster: Cluster,
  namespace: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<IamEvent> {
  let version: string | undefined;
  const seen = new Set<string>();
  while (!signal.aborted) {
    version ??= await currentVersion(cluster, namespace);
    try {
      for await (const { type, object } of watchOnce(cluster, namespace, version, signal)) {
        version = object.metadata.resourceVersion ?? version;
        if (type !== "ADDED" && type !== "MODIFIED") continue;
        const event = toIamEvent(object);
        const identity = `${object.metadata.uid} ${version}`;
        if (event === undefined || seen.has(identity)) continue;
        seen.add(identity);
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isKubeError(error, "Forbidden")) throw error;
      // Too old, or the connection broke: what came in between shows in the plain list.
      version = isKubeError(error, "Gone") ? undefined : version;
      await cluster.api.clock.sleep(PAUSE_MS, signal).catch(() => undefined);
    }
  }
}

interface WatchLine {
  readonly type: string;
  readonly object: EventObject;
}

async function* watchOnce(
  { api, transport }: Cluster,
  namespace: string | undefined,
  version: string,
  signal: AbortSignal,
): AsyncGenerator<WatchLine> {
  const body = await openWatch({ ...api, openStream: transport.openStream }, eventType, {
    selection: { namespace },
    version,
    timeoutSeconds: WATCH_SECONDS,
    headTimeoutMs: HEAD_MS,
    signal,
  });
  for await (const line of splitLines(body, MAX_LINE_BYTES)) {
    const parsed = JSON.parse(line) as WatchLine;
    if (parsed.type === "ERROR") return;
    yield parsed;
  }
}

async function currentVersion({ call }: Cluster, namespace: string | undefined): Promise<string> {
  const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const { metadata } = await call({
    attempted: "list events",
    method: "GET",
    path: `/apis/events.k8s.io/v1${within}/events`,
    query: { limit: 1 },
  });
  return (metadata as { readonly resourceVersion: string }).resourceVersion;
}
