/** A Secret that the API server stores otherwise than it is written. */
import { describe, expect, test } from "vitest";
import { contentId } from "../../../../src/kinds/api-key/rules/rendering.ts";
import { withReported } from "../../../../src/kinds/api-key/rules/reported-refusal.ts";
import type { ApiKeySnapshot } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import { differences } from "../../../../src/kinds/api-key/secret/differences.ts";
import { isSamePair } from "../../../../src/kinds/api-key/secret/pair.ts";
import { targetSecret } from "../../../../src/kinds/api-key/secret/render.ts";
import { pairIn, viewSecret } from "../../../../src/kinds/api-key/secret/view.ts";
import {
  at,
  delivered,
  firstOf,
  having,
  keySpec,
  object,
  owner,
  pair,
  same,
  stored,
  values,
} from "./builders.ts";

const spec = keySpec({ secret: { ...keySpec().secret, labels: { team: "a" } } });
const wanted = targetSecret(owner, spec, values, { pair: pair(1), previous: undefined });
const { metadata } = wanted;
const changed = stored({
  ...wanted,
  metadata: { ...metadata, labels: { ...metadata.labels, team: "theirs" } },
});
const notKept = { resourceVersion: "7", sent: contentId(wanted), what: "label team" };
const asked = object();

function overridden(changes: Partial<ApiKeySnapshot> = {}): ApiKeySnapshot {
  const target = viewSecret(changed, owner, spec, "target");
  return { ...delivered({ spec, target, notKept }), ...changes };
}

function requested(): ApiKeySnapshot["object"] {
  const annotations = { "iam-operator.io/reconcile-requested-at": "now" };
  return { ...asked, metadata: { ...asked.metadata, annotations } };
}

const waits = { kind: "Waiting", reason: "SecretNotKept" };
const writes = { kind: "RenderSecret" };

test.each<[string, object, ApiKeySnapshot]>([
  ["written once", writes, overridden({ notKept: undefined })],
  ["not written again", waits, overridden()],
  [
    "written after a change of it",
    writes,
    overridden({ notKept: { ...notKept, resourceVersion: "6" } }),
  ],
  [
    "written after a change of the spec",
    writes,
    overridden({ notKept: { ...notKept, sent: "x" } }),
  ],
  ["written on request", writes, overridden({ object: requested() })],
])("a Secret that is changed on the way is %s", (_, expected, given) => {
  expect(firstOf(having({ VerifyPair: same }, given))).toMatchObject(expected);
});

const saying = (reason: string, given = object()) =>
  ({
    ...given,
    status: { conditions: [{ type: "Ready", reason, observedGeneration: 1 }] },
  }) as never;

test.each<[string, object, ApiKeySnapshot["object"]]>([
  ["not written again", waits, saying("SecretNotKept")],
  ["written on request", writes, saying("SecretNotKept", requested())],
  ["written if the report is about something else", writes, saying("KeyDelivered")],
])("by the report of an earlier process, a Secret that differs is %s", (_, expected, given) => {
  const world = withReported(overridden({ notKept: undefined, object: given }), at());
  expect(firstOf(having({ VerifyPair: same }, world))).toMatchObject(expected);
});

test("an answer to an earlier write is not reported after a change of the spec", () => {
  const answers = { RenderSecret: same, Rehearse: same };
  const given = overridden({ notKept: { ...notKept, sent: "x" } });
  expect(firstOf(having(answers, given))).toEqual({ kind: "Settled" });
});

test("a request is for one write", () => {
  const answers = { VerifyPair: same, Rehearse: same };
  const written = overridden({ object: requested(), hasWritten: true });
  expect(firstOf(having(answers, written))).toMatchObject(waits);
});

/** Each place of a Secret that a policy may change, but for its name and what the API server sets. */
function placesOf(secret: object, path: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(secret).flatMap(([name, value]) => {
    const here = [...path, name];
    const isTree = typeof value === "object" && value !== null;
    return [here, ...(isTree ? placesOf(value, here) : [])];
  });
}

function without(secret: object, [name = "", ...rest]: readonly string[]): object {
  const entries = Object.entries(secret).flatMap(([key, value]) => {
    if (key !== name) return [[key, value]];
    return rest.length === 0 ? [] : [[key, without(value, rest)]];
  });
  return Array.isArray(secret)
    ? Object.values(Object.fromEntries(entries))
    : Object.fromEntries(entries);
}

test("whatever a policy removes without which a pair is not found is a vital difference", () => {
  const tls = keySpec({ secret: { ...spec.secret, type: "example.com/pair" } });
  const sent = targetSecret(owner, tls, values, { pair: pair(1), previous: undefined });
  const places = placesOf(sent).filter(([first, second]) =>
    first === "metadata"
      ? second !== undefined && !["name", "namespace"].includes(second)
      : first === "data" || first === "type",
  );
  let lost = 0;
  for (const path of places) {
    const answered = stored(without(sent, path) as typeof sent);
    const isFound = isSamePair(pairIn(viewSecret(answered, owner, tls, "target")), pair(1));
    const isVital = differences(answered, sent, owner).some((each) => each.isVital);
    if (!isFound) lost += 1;
    expect([path.join("."), isFound || isVital]).toEqual([path.join("."), true]);
  }
  expect(lost).toBeGreaterThan(5);
});

describe("differences", () => {
  test.each([
    ["label team, which the user declares", { labels: { team: "b" } }, "label team", false],
    [
      "the operator's label",
      { labels: { "app.kubernetes.io/managed-by": "x" } },
      "label app.kubernetes.io/managed-by",
      true,
    ],
    [
      "an annotation of the operator",
      { annotations: { "iam-operator.io/key-id": "x" } },
      "annotation iam-operator.io/key-id",
      true,
    ],
    ["the owner", { ownerReferences: [] }, "owner reference", true],
  ])("%s", (__, change, what, isVital) => {
    const labels = { ...metadata.labels, ...("labels" in change ? change.labels : {}) };
    const notes = {
      ...metadata.annotations,
      ...("annotations" in change ? change.annotations : {}),
    };
    const other = { ...metadata, ...change, labels, annotations: notes };
    const found = differences(stored({ ...wanted, metadata: other }), wanted, owner);
    expect(found).toEqual([{ what, isVital }]);
  });

  test("names of an earlier template are one", () => {
    const bare = targetSecret(owner, keySpec(), values, { pair: pair(1), previous: undefined });
    expect(differences(stored(wanted), bare, owner)).toEqual([
      { what: "list of names of labels and annotations", isVital: false },
    ]);
  });

  test("what others add to labels is none, and an entry is one", () => {
    const labels = { ...metadata.labels, other: "x" };
    expect(
      differences(stored({ ...wanted, metadata: { ...metadata, labels } }), wanted, owner),
    ).toEqual([]);
    const data = { ...wanted.data, added: "eA==" };
    expect(differences(stored({ ...wanted, data }), wanted, owner)).toEqual([
      { what: "entry added", isVital: true },
    ]);
  });
});
