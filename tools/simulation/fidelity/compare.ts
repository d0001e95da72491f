/** One sequence of commands on both servers, answer by answer and event by event. */
import { apiVersionOf, collectionPath } from "../../../src/kube/client/api-path.ts";
import { seededRandom } from "../../../test/support/seeded-random.ts";
import { canonical, type Tree, textAt, treeAt } from "../../api-server/tree.ts";
import { type Command, KINDS, type KindName, randomCommands } from "./commands.ts";
import { randomObject } from "./objects.ts";
import type { Server } from "./servers.ts";
import type { Side } from "./side.ts";
import { ENDS, maskedEvents, ODD_WATCHES, type WatchRequest, watchesOf } from "./watches.ts";

export interface Difference {
  readonly seed: number;
  readonly step: number;
  readonly command: Command | WatchRequest;
  readonly model: unknown;
  readonly real: unknown;
  /** The words of both where they refused. */
  readonly said?: string;
}

export interface Servers {
  readonly model: Server;
  readonly real: Server;
}

const LENGTH = 24;

/** `undefined` where both sides answered alike. */
export async function compareSequence(
  { model, real }: Servers,
  seed: number,
): Promise<Difference | undefined> {
  const namespace = `fidelity-${seed}`;
  const sides = { model: await model.side(namespace), real: await real.side(namespace) };
  const starts = {
    model: await versionAt(model, namespace),
    real: await versionAt(real, namespace),
  };
  const commands = randomCommands(seededRandom(`fidelity:${seed}`), LENGTH);
  for (const [step, command] of commands.entries()) {
    const [modelled, actual] = await Promise.all([
      sides.model.run(command),
      sides.real.run(command),
    ]);
    if (canonical(modelled) !== canonical(actual)) {
      const said = `${sides.model.said} | ${sides.real.said}`;
      return { seed, step, command, model: modelled, real: actual, said };
    }
  }
  for (const kind of Object.keys(KINDS) as KindName[]) {
    await Promise.all([createEnds(model, kind, namespace), createEnds(real, kind, namespace)]);
    for (const request of watchesOf(kind)) {
      const [modelled, actual] = await Promise.all([
        watched(model, sides.model, request, starts.model),
        watched(real, sides.real, request, starts.real),
      ]);
      if (canonical(modelled) !== canonical(actual))
        return { seed, step: LENGTH, command: request, model: modelled, real: actual };
    }
  }
  return undefined;
}

/** What both answer to watches that tell of no change. */
export async function compareOddWatches({ model, real }: Servers): Promise<readonly Difference[]> {
  const namespace = "fidelity-watches";
  const sides = { model: await model.side(namespace), real: await real.side(namespace) };
  const compared = ODD_WATCHES.map(async (request) => {
    const [modelled, actual] = await Promise.all([
      watched(model, sides.model, request, ""),
      watched(real, sides.real, request, ""),
    ]);
    const isAlike = canonical(modelled) === canonical(actual);
    return isAlike ? [] : [{ seed: 0, step: 0, command: request, model: modelled, real: actual }];
  });
  return (await Promise.all(compared)).flat();
}

async function versionAt(server: Server, namespace: string): Promise<string> {
  const { body } = await server.send({
    method: "GET",
    path: collectionPath(KINDS.Secret, namespace),
  });
  return textAt(treeAt(body, "metadata"), "resourceVersion") ?? "";
}

async function createEnds(server: Server, kind: KindName, namespace: string): Promise<void> {
  const type = KINDS[kind];
  const spec = kind === "Secret" ? {} : randomObject(seededRandom(3), kind);
  for (const metadata of ENDS)
    await server.send({
      method: "POST",
      path: collectionPath(type, namespace),
      body: { ...spec, apiVersion: apiVersionOf(type), kind, metadata },
    });
}

async function watched(
  server: Server,
  side: Side,
  request: WatchRequest,
  start: string,
): Promise<Tree> {
  return maskedEvents(await server.watch(request, side.namespace, start), side);
}
