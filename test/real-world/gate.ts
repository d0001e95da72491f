/**
 * A plain HTTP door to the API server that records every request, holds single ones, and can go dark. What it
 * holds before sending is lost with its sender; what it holds after the answer has been carried out.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, request as sendRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface GateRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly contentType: string;
  /** `performance.now()` at arrival. */
  readonly at: number;
  readonly isDryRun: boolean;
}

export interface Hold {
  readonly reached: Promise<GateRequest>;
  release(): void;
}

export interface Gate {
  readonly kubeconfig: string;
  readonly requests: readonly GateRequest[];
  /** Requests that are to change something, but for dry runs. */
  mutations(since?: number): readonly string[];
  /** Holds every request that matches, before it is sent on or after it has been carried out. */
  hold(when: "before" | "after", matches: (request: GateRequest) => boolean): Hold;
  /** Neither requests nor answers pass, and no connection is closed. */
  goDark(): void;
  close(): Promise<void>;
}

interface ActiveHold {
  readonly when: "before" | "after";
  readonly matches: (request: GateRequest) => boolean;
  readonly onReached: (request: GateRequest) => void;
  readonly released: Promise<void>;
}

/** Opens a gate for the user of a kubeconfig. */
export async function openGate(cluster: {
  readonly url: string;
  readonly caFile: string;
  readonly kubeconfig: string;
}): Promise<Gate> {
  const requests: GateRequest[] = [];
  const holds = new Set<ActiveHold>();
  const never = new Promise<never>(() => undefined);
  let dark = false;
  const agent = new Agent({ keepAlive: true, ca: readFileSync(cluster.caFile) });

  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = (await incoming.toArray()).join("");
    const path = incoming.url ?? "/";
    const isDryRun = path.includes("dryRun=All");
    const arrived = performance.now();
    const contentType = incoming.headers["content-type"] ?? "";
    const method = incoming.method ?? "";
    const seen = { method, path, body, contentType, at: arrived, isDryRun };
    requests.push(seen);
    const hold = async (when: "before" | "after") => {
      const acting = [...holds].filter((one) => one.when === when && one.matches(seen));
      for (const one of acting) one.onReached(seen);
      await Promise.all(acting.map(({ released }) => released));
      if (dark) await never;
    };
    await hold("before");
    if (outgoing.destroyed) return;
    const { host: _, ...headers } = incoming.headers;
    const upstream = sendRequest(new URL(path, cluster.url), {
      agent,
      method: seen.method,
      headers,
    });
    outgoing.once("close", () => upstream.destroy());
    upstream.once("error", () => outgoing.destroy());
    const passBack = async (answer: IncomingMessage) => {
      await hold("after");
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on("data", (chunk: Buffer) => dark || outgoing.write(chunk));
      answer.on("end", () => dark || outgoing.end());
      answer.on("error", () => outgoing.destroy());
    };
    upstream.once("response", (answer) => {
      passBack(answer).catch(() => outgoing.destroy());
    });
    upstream.end(body);
  };

  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-gate-"));
  const kubeconfig = join(directory, "kubeconfig");
  const plain = withServer(readFileSync(cluster.kubeconfig, "utf8"), url);
  // Without this, kubeconfigs with plain HTTP are refused.
  const insecure = "insecure-skip-tls-verify: true";
  writeFileSync(kubeconfig, plain.replace(/certificate-authority-data: .*/, insecure));

  return {
    kubeconfig,
    requests,
    mutations: (since = 0) =>
      requests
        .filter(({ method, path, isDryRun, at }) => {
          // What the operator may do is asked by a POST that changes nothing.
          const isQuestion = path.endsWith("accessreviews") || path.endsWith("tokenreviews");
          return method !== "GET" && !isDryRun && !isQuestion && at >= since;
        })
        .map(({ method, path }) => `${method} ${path}`),
    hold(when, matches) {
      const reached = Promise.withResolvers<GateRequest>();
      const released = Promise.withResolvers<void>();
      const one = { when, matches, onReached: reached.resolve, released: released.promise };
      holds.add(one);
      return {
        reached: reached.promise,
        release: () => {
          holds.delete(one);
          released.resolve();
        },
      };
    },
    goDark: () => {
      dark = true;
    },
    close() {
      rmSync(directory, { recursive: true });
      agent.destroy();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A kubeconfig that reaches the cluster at another address. */
export function withServer(kubeconfig: string, url: string): string {
  return kubeconfig.replace(/^( *server: ).*$/m, `$1${url}`);
}
