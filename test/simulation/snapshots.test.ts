/** What a run decides on is data: no snapshot of any kind, in any state, holds a client, a session or a function. */
import { expect, test, vi } from "vitest";
import { annotations } from "../../src/api/meta.ts";
import type { KindTypes } from "../../src/controllers/frame/run-context.ts";
import { kinds } from "../../src/controllers/kinds.ts";
import { connectionType, resourceQuotaExportType } from "../../src/controllers/resource-types.ts";
import type { ResourceType } from "../../src/kube/resource.ts";
import { secretType } from "../../src/kube/resource-types.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { MINUTE } from "../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../tools/iam-server/seed.ts";
import { inNamespace } from "./scenarios.ts";
import { connectionSpec } from "./sim-world.ts";
import { endingStories } from "./stories/endings.ts";
import { story, violationsIn } from "./stories/story.ts";

const seen = vi.hoisted(() => ({ states: new Set<string>(), faults: new Set<string>() }));

vi.mock("../../src/controllers/frame/run-steps.ts", async (original) => {
  const { runSteps } = await original<typeof import("../../src/controllers/frame/run-steps.ts")>();
  const watched: typeof runSteps = (kind, start, spec, run, perform) => {
    note(kind.type.kind, start.snapshot);
    return runSteps(kind, start, spec, run, async (action, progress) => {
      const after = await perform(action, progress);
      note(kind.type.kind, after.snapshot);
      return after;
    });
  };
  return { runSteps: watched };
});

function note(type: string, snapshot: KindTypes["Snapshot"]): void {
  // Runs over PolicyBindings are runs over their ServiceAccount.
  const kind = "bindings" in snapshot ? "PolicyBinding" : type;
  const { object, spec } = snapshot as {
    object: KindTypes["Object"];
    spec?: { suspend?: boolean };
  };
  const { deletionTimestamp } = object.metadata;
  const state = deletionTimestamp !== undefined ? "deleted" : spec?.suspend ? "suspended" : "live";
  seen.states.add(`${kind} ${state}`);
  const fault = faultIn(snapshot, kind);
  if (fault !== undefined) seen.faults.add(fault);
}

/** Where a value is not data; Redacted is. */
function faultIn(value: unknown, path: string): string | undefined {
  if (typeof value === "function") return `${path} is a function`;
  if (typeof value !== "object" || value === null || value instanceof Redacted) return undefined;
  const entries = entriesOf(value);
  if (entries === undefined) return `${path} is a ${value.constructor.name}`;
  for (const [name, each] of entries) {
    const fault = faultIn(each, `${path}.${String(name)}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** `undefined` if the value is neither a plain object nor a collection. */
function entriesOf(value: object): readonly (readonly [unknown, unknown])[] | undefined {
  if (value instanceof Map || value instanceof Set) return [...value.entries()];
  const isPlain = [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value));
  return isPlain ? Object.entries(value) : undefined;
}

const { grants: _, ...ownSpec } = connectionSpec;
const types = kinds.map(({ type }) => type);

/** Each kind is live, is planned for, is suspended and is deleted, before and after an outage. */
const lives = story("lives of every kind", async (world) => {
  await world.begin();
  const stringData = { ...DEFAULT_CREDENTIALS };
  world.sim.create(secretType, { metadata: inNamespace("login"), stringData });
  world.sim.create(connectionType, {
    metadata: inNamespace("own"),
    spec: { ...ownSpec, credentials: { login: { secretRef: { name: "login" } } } },
  });
  world.sim.create(resourceQuotaExportType, {
    metadata: inNamespace("quotas"),
    spec: { clusterId: SEEDED.clusterId },
  });
  const eachObject = (change: (type: ResourceType, name: string, namespace: string) => void) => {
    for (const type of types)
      for (const { metadata } of world.sim.list(type)) {
        const { name, namespace = "" } = metadata as { name: string; namespace?: string };
        change(type, name, namespace);
      }
  };
  await world.pass(MINUTE);
  for (const planOnly of ["true", "false"]) {
    const changes = { metadata: { annotations: { [annotations.planOnly]: planOnly } } };
    eachObject((...of) => world.sim.patch(of[0], of[1], changes, undefined, of[2]));
    world.rotate(planOnly);
    await world.pass(MINUTE);
  }
  for (const suspend of [true, false]) {
    eachObject((type, name, namespace) => world.change(type, name, { suspend }, namespace));
    await world.pass(MINUTE);
  }
  eachObject((type, name, namespace) => world.sim.delete(type, name, namespace));
  await world.pass(5 * MINUTE);
});

test("no snapshot of any run holds anything but data", { timeout: 120_000 }, async () => {
  expect(faultIn({ client: { close: () => undefined } }, "it")).toBe(
    "it.client.close is a function",
  );
  for (const each of [lives, ...endingStories]) await violationsIn({ ...each, endsReady: false });
  expect([...seen.faults]).toEqual([]);
  // PolicyBindings are suspended and deleted as part of the run over their ServiceAccount; an export has no finalizer.
  const unseen = [
    "PolicyBinding suspended",
    "PolicyBinding deleted",
    "ResourceQuotaExport deleted",
  ];
  const states = kinds.flatMap(({ type: { kind } }) =>
    ["live", "suspended", "deleted"].map((state) => `${kind} ${state}`),
  );
  expect(states.filter((state) => !seen.states.has(state))).toEqual(unseen);
});
