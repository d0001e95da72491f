/** Follows events as they arrive. */
import { readVersion } from "../../kube/client/list-pages.ts";
import { isKubeError } from "../../kube/errors.ts";
import { type ClusterEvent, eventType } from "../../kube/resource-types.ts";
import { splitLines } from "../../kube/watch/lines.ts";
import type { WatchInput } from "../../kube/watch/watch-state.ts";
import { openWatch, parseWatchLine } from "../../kube/watch/watch-stream.ts";
import { SECOND } from "../../util/time.ts";
import type { Cluster } from "./cluster.ts";
import { type IamEvent, toIamEvent } from "./events.ts";

const MAX_LINE_BYTES = 2 ** 21;
const WATCH_SECONDS = 300;
const HEAD_MS = 10 * SECOND;
const PAUSE_MS = SECOND;

/** Every event from now on, until the signal is aborted. Restarts a watch that ends. Rejects with KubeError. */
export async function* followEvents(
  cluster: Cluster,
  namespace: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<IamEvent> {
  let version = await currentVersion(cluster, namespace);
  while (!signal.aborted)
    try {
      for await (const input of watchOnce(cluster, namespace, version, signal)) {
        if ("version" in input) ({ version } = input);
        const event = eventOf(input);
        if (event !== undefined) yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      version = await resumeFrom(error, version, cluster, namespace);
      await cluster.api.clock.sleep(PAUSE_MS, signal).catch(() => undefined);
    }
}

function eventOf(input: WatchInput<ClusterEvent>): IamEvent | undefined {
  return input.kind === "Changed" && !input.deleted ? toIamEvent(input.object) : undefined;
}

async function* watchOnce(
  { api, transport }: Cluster,
  namespace: string | undefined,
  version: string,
  signal: AbortSignal,
): AsyncGenerator<WatchInput<ClusterEvent>> {
  const body = await openWatch({ ...api, openStream: transport.openStream }, eventType, {
    selection: { namespace },
    version,
    timeoutSeconds: WATCH_SECONDS,
    headTimeoutMs: HEAD_MS,
    signal,
  });
  for await (const line of splitLines(body, MAX_LINE_BYTES))
    yield parseWatchLine(api, eventType, line);
}

/**
 * The version at which to resume after a failure. If that version is too old, the events in between are only in the
 * plain list.
 */
async function resumeFrom(
  error: unknown,
  version: string,
  cluster: Cluster,
  namespace: string | undefined,
): Promise<string> {
  if (isKubeError(error, "Forbidden")) throw error;
  return isKubeError(error, "Gone") ? currentVersion(cluster, namespace) : version;
}

function currentVersion({ api }: Cluster, namespace: string | undefined): Promise<string> {
  return readVersion(api, eventType, { namespace }, { timeoutMs: HEAD_MS });
}
