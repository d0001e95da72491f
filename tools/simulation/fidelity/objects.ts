/** Random parts of objects; most are valid. */

import type { SeededRandom } from "../../../test/support/seeded-random.ts";
import { isTree, type Json, type Tree } from "../../api-server/tree.ts";
import type { KindName } from "./commands.ts";

const FINALIZERS = ["example.com/one", "example.com/two"];

export function randomMetadata(random: SeededRandom): Tree {
  return some(random, {
    labels: () => some(random, { team: () => random.pick(["x", "y"]), tier: () => "z" }),
    annotations: () => some(random, { "example.com/note": () => random.pick(["1", "2"]) }),
    finalizers: () =>
      random.chance(0.5) ? random.pick(FINALIZERS.map((each) => [each])) : FINALIZERS,
  });
}

export function randomObject(random: SeededRandom, kind: KindName): Tree {
  switch (kind) {
    case "ApiKey":
      return { spec: { serviceAccountRef: { name: "sa" }, ...apiKeySpec(random) } };
    case "PolicyBinding":
      return {
        spec: {
          serviceAccountRef: { name: "sa" },
          policyIds: policyIds(random),
          ...bindingSpec(random),
        },
      };
    case "Secret":
      return secretParts(random);
  }
}

function apiKeySpec(random: SeededRandom): Tree {
  return some(random, {
    description: () => random.pick(["one", "two", ""]),
    expiresInDays: () => random.pick<Json>([30, 90, 90, 0, "x"]),
    suspend: () => random.chance(0.5),
    maxIssuesPerDay: () => random.pick([2, 4]),
    unknown: () => "field",
    secret: () =>
      some(random, {
        labels: () => some(random, { a: () => "b" }),
        data: () => ({ key: "${keyId}:${secret}" }),
      }),
  });
}

function bindingSpec(random: SeededRandom): Tree {
  return some(random, {
    deletionPolicy: () => random.pick(["Revoke", "Retain", "Other"]),
    suspend: () => random.chance(0.5),
  });
}

function policyIds(random: SeededRandom): Json {
  return random.pick([["p1"], ["p1", "p2"], ["p2"], ["p3", "p1"]]);
}

function secretParts(random: SeededRandom): Tree {
  return some(random, {
    data: () => some(random, { a: () => random.pick(["MQ==", "Mg=="]), b: () => "Mw==" }),
    stringData: () => some(random, { c: () => random.pick(["1", "2"]) }),
    type: () => random.pick(["Opaque", "Opaque", "example.com/type"]),
    immutable: () => random.chance(0.2),
  });
}

export function randomStatus(random: SeededRandom, kind: KindName): Tree {
  return some(random, {
    observedGeneration: () => random.below(3),
    conditions: () =>
      ["Ready", "Verified"].filter(() => random.chance(0.6)).map((type) => condition(random, type)),
    ...(kind === "ApiKey"
      ? {
          secretName: () => random.pick(["s", "t"]),
          attempt: () => ({
            id: random.pick(["x", "y"]),
            revision: 1,
            reason: "New",
            startTime: TIME,
          }),
        }
      : { appliedPolicyIds: () => policyIds(random) }),
  });
}

const TIME = "2026-01-01T00:00:00Z";

function condition(random: SeededRandom, type: string): Tree {
  return {
    type,
    status: random.pick(["True", "False"]),
    reason: "Why",
    message: random.pick(["a", "b"]),
    lastTransitionTime: TIME,
    ...some(random, { observedGeneration: () => 1 }),
  };
}

export function randomPatch(random: SeededRandom, kind: KindName): Tree {
  const metadata = some(random, {
    labels: () =>
      some(random, { team: () => random.pick<Json>(["x", "y", null]), tier: () => null }),
    annotations: () => random.pick<Json>([null, { "example.com/note": "3" }]),
    finalizers: () => random.pick<Json>([null, [], [FINALIZERS[0] ?? ""]]),
  });
  const body = kind === "Secret" ? secretParts(random) : { spec: specPatch(random, kind) };
  return { ...some(random, { metadata: () => metadata }), ...(random.chance(0.5) ? body : {}) };
}

function specPatch(random: SeededRandom, kind: KindName): Tree {
  if (kind === "PolicyBinding")
    return some(random, { policyIds: () => policyIds(random), ...NO_SUSPEND });
  return some(random, {
    description: () => random.pick<Json>(["three", null]),
    expiresInDays: () => random.pick<Json>([45, null, -1]),
    ...NO_SUSPEND,
  });
}

const NO_SUSPEND = { suspend: () => null };

/**
 * Each part in half of all cases. Empty maps are left out: how the server remembers who applied one is a
 * matter of its own, and nobody relies on it.
 */
function some(random: SeededRandom, parts: Readonly<Record<string, () => Json>>): Tree {
  const result: Tree = {};
  for (const [name, make] of Object.entries(parts)) {
    const part = random.chance(0.5) ? make() : undefined;
    if (part !== undefined && !isEmpty(part)) result[name] = part;
  }
  return result;
}

function isEmpty(part: Json): boolean {
  return isTree(part) && Object.keys(part).length === 0;
}
