import { describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import {
  droppedNames,
  listsSameNames,
  listTemplateNames,
} from "../../../../src/controllers/api-key/secret/names.ts";
import { KeyWorld } from "./world.ts";

const LIST = annotations.templateNames;

describe("labels and annotations of the template", () => {
  test("that are dropped from it go from the Secret; those of others, and the key, stay", async () => {
    const world = await worldWith({
      labels: { team: "a", tier: "db" },
      annotations: { "example.com/note": "x", "example.com/mail": "y" },
    });
    world.edit("secrets", "ci", ({ metadata }) => {
      metadata.labels.backup = "yes";
      metadata.annotations["example.com/seen"] = "today";
    });
    const before = labelsAndAnnotations(world);
    await render(world, { labels: { team: "a" }, annotations: { "example.com/mail": "y" } });
    const { tier: _, ...labels } = before.labels;
    const { "example.com/note": __, ...kept } = before.annotations;
    expect(labelsAndAnnotations(world)).toEqual({
      labels,
      annotations: { ...kept, [LIST]: '{"labels":["team"],"annotations":["example.com/mail"]}' },
    });
    await render(world, {});
    expect(world.secret()?.metadata.labels).toEqual({
      backup: "yes",
      "app.kubernetes.io/managed-by": "iam-operator",
      "iam-operator.io/api-key": "ci",
      "iam-operator.io/role": "target",
    });
    expect(world.secret()?.metadata.annotations).toMatchObject({ "example.com/seen": "today" });
    expect(Object.keys(world.secret()?.metadata.annotations ?? {})).not.toContain(LIST);
    expect(world.posts()).toBe(1);
    expect(world.violations).toEqual([]);
  });

  test("that others set after they were dropped are theirs", async () => {
    const world = await worldWith({ labels: { team: "a" } });
    await render(world, {});
    world.edit("secrets", "ci", ({ metadata }) => {
      metadata.labels.team = "theirs";
    });
    await render(world, { labels: { tier: "db" } });
    await render(world, {});
    expect(world.secret()?.metadata.labels).toMatchObject({ team: "theirs" });
    expect(world.secret()?.metadata.labels).not.toHaveProperty("tier");
  });

  test("stay on a Secret that does not list them, which lists what it has from then on", async () => {
    const world = await worldWith({ labels: { team: "a", tier: "db" } });
    // As an earlier version wrote it.
    world.edit("secrets", "ci", ({ metadata }) => {
      delete metadata.annotations[LIST];
    });
    await render(world, { labels: { tier: "db" } });
    expect(world.secret()?.metadata.labels).toMatchObject({ team: "a", tier: "db" });
    await render(world, {});
    expect(world.secret()?.metadata.labels).toMatchObject({ team: "a" });
    expect(world.secret()?.metadata.labels).not.toHaveProperty("tier");
  });

  test("are no reason to write a Secret that has none, and cost one write where a list was missing", async () => {
    const plain = await worldWith({});
    const writes = plain.writes;
    await plain.settle();
    expect(plain.writes).toBe(writes);

    const world = await worldWith({ labels: { team: "a" } });
    world.edit("secrets", "ci", ({ metadata }) => {
      delete metadata.annotations[LIST];
    });
    const content = world.status().content;
    const before = world.calls.length;
    await world.settle();
    await world.settle();
    expect(world.calls.slice(before)).toEqual(["patch secrets"]);
    expect(world.status().content).toEqual(content);
  });
});

describe("a list that somebody has edited", () => {
  test.each([
    ["no JSON", "{"],
    ["of another shape", '{"labels":{"team":"a"}}'],
    ["with names that are no texts", '{"labels":[1],"annotations":[null]}'],
    ["empty", ""],
  ])("%s: nothing is dropped, and it is written anew", (_, text) => {
    const stored = { labels: { team: "a" }, annotations: { [LIST]: text } };
    expect(droppedNames(stored, {})).toEqual({ labels: [], annotations: [] });
    expect(listsSameNames(stored, {})).toBe(false);
  });

  test("never takes away what is wanted, nor names what is not there", () => {
    const list = { labels: ["mine", "gone", "__proto__"], annotations: [LIST, "constructor"] };
    const stored = { labels: { mine: "1" }, annotations: { [LIST]: JSON.stringify(list) } };
    const wanted = {
      labels: { mine: "1" },
      annotations: listTemplateNames({ labels: { mine: "1" } }),
    };
    expect(droppedNames(stored, wanted)).toEqual({ labels: [], annotations: [] });
  });
});

async function worldWith(secret: object): Promise<KeyWorld> {
  const world = new KeyWorld();
  world.apiKey("ci", { secret });
  await world.settle();
  return world;
}

async function render(world: KeyWorld, secret: object): Promise<void> {
  world.edit("apikeys", "ci", (object) => {
    object.spec.secret = secret;
  });
  await world.settle();
}

function labelsAndAnnotations(world: KeyWorld) {
  const { labels = {}, annotations: notes = {} } = world.secret()?.metadata ?? {};
  return { labels, annotations: notes };
}
