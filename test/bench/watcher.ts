/** A watcher that has nothing to do with the operator: when did what appear? */

import { loadKubeEndpoint } from "../../src/kube/config/config.ts";
import { createKubeTransport } from "../../src/kube/transport/transport.ts";
import { systemClock } from "../../src/util/time.ts";

export interface Watcher {
  /** `performance.now()` at which an object was first seen to satisfy the test. */
  readonly seen: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

interface WatchedObject {
  readonly metadata: { readonly name: string };
}

export async function watchFor<T extends WatchedObject>(
  kubeconfig: string,
  path: string,
  holds: (object: T) => boolean,
): Promise<Watcher> {
  const endpoint = await loadKubeEndpoint({ kubeconfig, clock: systemClock });
  const transport = createKubeTransport({ endpoint, clock: systemClock });
  const ending = new AbortController();
  const seen = new Map<string, number>();
  const open = () =>
    transport.openStream({
      url: `${endpoint.server}${path}?watch=true`,
      headers: { accept: "application/json" },
      headTimeoutMs: 10_000,
      signal: ending.signal,
    });
  const note = (line: string) => {
    const { object } = JSON.parse(line) as { object: T };
    const { name } = object.metadata;
    if (!seen.has(name) && holds(object)) seen.set(name, performance.now());
  };
  const read = async ({ body }: Awaited<ReturnType<typeof open>>) => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      lines.forEach(note);
    }
  };
  const first = await open();
  const follow = async () => {
    // The API server ends the watch of whoever is slow to read; the next one begins with what there is.
    for (let stream = first; !ending.signal.aborted; stream = await open())
      await read(stream).catch(() => undefined);
  };
  const reading = follow().catch(() => undefined);
  return {
    seen,
    async close() {
      ending.abort();
      await reading;
      await transport.close();
    },
  };
}
