/** The two servers behind one interface. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { collectionPath } from "../../../src/kube/client/api-path.ts";
import { namespaceType } from "../../../src/kube/resource-types.ts";
import { splitLines } from "../../../src/kube/watch/lines.ts";
import { type ControlPlane, startControlPlane } from "../../../test/cluster/control-plane.ts";
import { connect, type RealClient } from "../../../test/cluster/real-client.ts";
import { seededRandom } from "../../../test/support/seeded-random.ts";
import { ApiFailure } from "../../api-server/failure.ts";
import { ApiServer, randomUid } from "../../api-server/server.ts";
import { type Tree, textAt } from "../../api-server/tree.ts";
import { KINDS } from "./commands.ts";
import { type Answer, type Call, Side } from "./side.ts";
import { acceptOf, isLast, type Watched, type WatchRequest, watchPath } from "./watches.ts";

export interface Server {
  side(namespace: string): Promise<Side>;
  send(call: Call): Promise<Answer>;
  /** What a watch tells up to its last event; `start` is the version from before the first command. */
  watch(request: WatchRequest, namespace: string, start: string): Promise<Watched>;
}

export function modelServer(): Server {
  const start = Date.UTC(2026, 0, 1);
  const random = seededRandom(1);
  const server = new ApiServer({ now: () => start, newUid: () => randomUid(random) });
  // Neither server remembers how it began.
  server.storage.compact();
  const send = async ({ method, path, contentType, body }: Call): Promise<Answer> =>
    // Through text, as over the wire.
    parsed(
      server.handle({
        method,
        url: `http://model${path}`,
        headers: contentType === undefined ? {} : { "content-type": contentType },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  return {
    send,
    side: (namespace) => openSide(namespace, send),
    watch: async (request, namespace, start) => {
      const url = `http://model${watchPath(request, namespace, start)}`;
      const headers = { accept: acceptOf(request) };
      try {
        const { first } = server.watch({ method: "GET", url, headers });
        const events = first.map((event) => JSON.parse(JSON.stringify(event)) as Tree);
        return { status: 200, reason: "", events: upToLast(request, events) };
      } catch (error) {
        if (!(error instanceof ApiFailure)) throw error;
        return { status: error.status, reason: error.reason, events: [] };
      }
    },
  };
}

export interface RealServer extends Server {
  stop(): Promise<void>;
}

export async function realServer(): Promise<RealServer> {
  const cluster = await startControlPlane({ controllerManager: false });
  try {
    await installKinds(cluster);
    const client = await connect(cluster.kubeconfig);
    const server = toServer(cluster, client);
    await warmUp(server);
    return server;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function installKinds({ kubectl, kubeconfig }: ControlPlane): Promise<void> {
  const run = promisify(execFile);
  const crds = `${import.meta.dirname}/../../../crds`;
  await run(kubectl, ["--kubeconfig", kubeconfig, "apply", "-f", crds]);
  const wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"];
  await run(kubectl, ["--kubeconfig", kubeconfig, ...wait]);
}

/** A new kind's watch cache knows nothing of the time before it was first asked. */
async function warmUp({ send }: Server): Promise<void> {
  for (const type of Object.values(KINDS)) {
    await send({ method: "GET", path: `${collectionPath(type)}?resourceVersion=0` });
  }
}

function toServer(cluster: ControlPlane, { transport, api }: RealClient): RealServer {
  const send = async ({ method, path, contentType, body }: Call): Promise<Answer> => {
    const response = await transport.send({
      method,
      url: `${api.baseURL}${path}`,
      headers: { accept: "application/json", "content-type": contentType ?? "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      timeoutMs: 30_000,
      maxBytes: 2 ** 24,
    });
    return { status: response.status, body: JSON.parse(response.body.toString("utf8")) as Tree };
  };
  return {
    send,
    side: (namespace) => openSide(namespace, send),
    watch: async (request, namespace, start) => {
      const ending = new AbortController();
      const { status, body } = await transport.openStream({
        url: `${api.baseURL}${watchPath(request, namespace, start)}`,
        headers: { accept: acceptOf(request) },
        headTimeoutMs: 30_000,
        signal: ending.signal,
      });
      const events: Tree[] = [];
      for await (const line of splitLines(body, 2 ** 24)) {
        events.push(JSON.parse(line) as Tree);
        if (status !== 200 || isLast(request, events.at(-1) ?? {})) break;
      }
      ending.abort();
      const reason = status === 200 ? "" : (textAt(events[0] ?? {}, "reason") ?? "");
      return { status, reason, events: status === 200 ? events : [] };
    },
    stop: async () => {
      await transport.close();
      await cluster.stop();
    },
  };
}

function parsed(answer: Answer): Answer {
  return { status: answer.status, body: JSON.parse(JSON.stringify(answer.body)) as Tree };
}

async function openSide(namespace: string, send: Server["send"]): Promise<Side> {
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  const answer = await send({ method: "POST", path: collectionPath(namespaceType), body });
  if (answer.status !== 201) throw new Error(`no namespace ${namespace}: ${answer.status}`);
  return new Side(namespace, send);
}

function upToLast(request: WatchRequest, events: readonly Tree[]): readonly Tree[] {
  const last = events.findIndex((event) => isLast(request, event));
  return last < 0 ? events : events.slice(0, last + 1);
}
