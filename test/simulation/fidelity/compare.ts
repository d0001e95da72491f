/** One sequence of commands on both servers, answer by answer and event by event. */
import { collectionPath } from "../../../src/kube/client/api-path.ts";
import { canonical, isTree, type Tree, textAt, treeAt } from "../../support/api-server/tree.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { type Command, KINDS, type KindName, randomCommands } from "./commands.ts";
import { randomObject } from "./objects.ts";
import { LAST, type Server } from "./servers.ts";
import type { Side } from "./side.ts";

export interface Difference {
  readonly seed: number;
  readonly step: number;
  readonly command: Command | string;
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
    const [modelled, actual] = await Promise.all([
      events(model, sides.model, kind, starts.model),
      events(real, sides.real, kind, starts.real),
    ]);
    if (canonical(modelled) !== canonical(actual)) {
      return { seed, step: LENGTH, command: `watch ${kind}`, model: modelled, real: actual };
    }
  }
  return undefined;
}

async function versionAt(server: Server, namespace: string): Promise<string> {
  const { body } = await server.send({
    method: "GET",
    path: collectionPath(KINDS.Secret, namespace),
  });
  return textAt(treeAt(body, "metadata"), "resourceVersion") ?? "";
}

async function events(server: Server, side: Side, kind: KindName, since: string) {
  const type = KINDS[kind];
  const spec = kind === "Secret" ? {} : randomObject(seededRandom(3), kind);
  await server.send({
    method: "POST",
    path: collectionPath(type, side.namespace),
    body: {
      ...spec,
      apiVersion: `${type.group && `${type.group}/`}${type.version}`,
      kind,
      metadata: { name: LAST },
    },
  });
  const all = await server.events(kind, side.namespace, since);
  return all.map(
    ({ type: what, object }): Tree => ({
      what,
      object: isTree(object) ? side.masked(object) : null,
    }),
  );
}
