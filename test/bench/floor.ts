/**
 * The floor: the calls of an issue as recorded, sent again for other objects without any logic, by so many
 * writers at once. No program that makes these calls can be faster on this machine.
 */

import { createTransport } from "../../src/console/exchange/transport.ts";
import { loadKubeEndpoint } from "../../src/kube/config/config.ts";
import { createKubeTransport } from "../../src/kube/transport/transport.ts";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import { systemClock } from "../../src/util/time.ts";
import { DEFAULT_CREDENTIALS } from "../../tools/iam-server/seed.ts";
import type { IamServer } from "../../tools/iam-server/server.ts";
import type { GateRequest } from "../real-world/gate.ts";
import { inParallel } from "../real-world/in-parallel.ts";
import type { OwnServers } from "../real-world/servers.ts";
import type { Recorded } from "./calls.ts";

const ISSUES = "/keys";
const KEPT = { timeoutMs: 30_000, maxBytes: 8 << 20 };

/** Seconds that the calls of `names.length` issues take. */
export async function runFloor(
  servers: OwnServers,
  { requests, sample }: Recorded,
  {
    namespace,
    iam,
    names,
    writers,
  }: {
    readonly namespace: string;
    readonly iam: IamServer;
    readonly names: readonly string[];
    readonly writers: number;
  },
): Promise<number> {
  const endpoint = await loadKubeEndpoint({
    kubeconfig: servers.cluster.kubeconfig,
    clock: systemClock,
  });
  const kube = createKubeTransport({ endpoint, clock: systemClock });
  const console = createTransport({ origin: iam.url, connections: writers, clock: systemClock });
  const objects = await servers.kube.list(apiKeyType, { namespace });
  const uids = new Map(objects.map(({ metadata }) => [metadata.name, metadata.uid ?? ""]));
  const headers = {
    authorization: `Bearer ${iam.world.openSession(DEFAULT_CREDENTIALS.username)}`,
    "x-domain-id": "org-1",
    "x-domain-name": "acme",
  };
  const { saId } = iam.world.createAccount({
    orgId: "org-1",
    projectId: "prj-1",
    name: `floor-${namespace}-${writers}`,
    description: "",
  });
  const account = `${iam.url}/api/v1/iam/authn/service-accounts/${saId}`;

  /** The three calls to the console stand where the operator makes them: before the intent, after it, before the switch. */
  const toConsole = async () => {
    await console.send({ method: "GET", url: account, headers, ...KEPT });
    await console.send({
      method: "POST",
      url: `${account}${ISSUES}`,
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ description: "floor", expiresInDays: 90 }),
      ...KEPT,
    });
    await console.send({
      method: "GET",
      url: `${iam.url}/api/v1/iam/authz/action-catalog/actions/search?q=a&pageSize=1`,
      headers,
      ...KEPT,
    });
  };
  const resend = async (request: GateRequest, name: string) => {
    const adapted = (text: string) =>
      text
        .replaceAll(sample.namespace, namespace)
        .replaceAll(sample.name, name)
        .replaceAll(sample.uid, uids.get(name) ?? "");
    const { method, path, body, contentType } = request;
    const type = contentType === "" ? {} : { "content-type": contentType };
    const { status } = await kube.send({
      method: method as "GET",
      url: `${endpoint.server}${adapted(path)}`,
      headers: { accept: "application/json", ...type },
      ...(body === "" ? {} : { body: withoutPreconditions(adapted(body)) }),
      ...KEPT,
    });
    if (status >= 400 && status !== 404) throw new Error(`${method} ${path}: ${status}`);
  };
  const startedAt = performance.now();
  await inParallel(names, writers, async (name) => {
    await toConsole();
    for (const request of requests) await resend(request, name);
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  await Promise.all([kube.close(), console.close()]);
  return seconds;
}

/** They are those of other objects. */
function withoutPreconditions(body: string): string {
  return body.replaceAll(/,"resourceVersion":"\d+"/g, "").replace(/,"preconditions":\{[^}]*\}/, "");
}
