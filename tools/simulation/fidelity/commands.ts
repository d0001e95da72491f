/** Random commands as data: the same ones run against the model and against the real server. */

import type { ResourceType } from "../../../src/kube/resource.ts";
import {
  apiKeyType,
  policyBindingType,
  secretType,
} from "../../../src/resources/resource-types.ts";
import type { SeededRandom } from "../../../test/support/seeded-random.ts";
import type { Tree } from "../../api-server/tree.ts";
import { randomMetadata, randomObject, randomPatch, randomStatus } from "./objects.ts";

/** Which version or UID a command names: each side knows its own. */
export type Reference = "none" | "current" | "first" | "wrong";

export interface Target {
  readonly kind: KindName;
  readonly name: string;
}

interface Guarded {
  readonly version: Reference;
  readonly uid: Reference;
  readonly dryRun: boolean;
}

export type Command =
  | ({ readonly kind: "Get" } & { readonly target: Target })
  | ({ readonly kind: "Create"; readonly dryRun: boolean; readonly body: Tree } & On)
  | ({ readonly kind: "Replace"; readonly status: boolean; readonly change: Tree } & On & Guarded)
  | ({ readonly kind: "Patch"; readonly status: boolean; readonly body: Tree } & On & Guarded)
  | ({
      readonly kind: "Apply";
      readonly status: boolean;
      readonly body: Tree;
      readonly manager: string;
    } & On &
      Guarded)
  | ({ readonly kind: "Delete" } & On & Guarded)
  | {
      readonly kind: "List";
      readonly of: KindName;
      readonly limit: number;
      readonly selector: string;
    };

interface On {
  readonly target: Target;
}

export const KINDS = {
  ApiKey: apiKeyType,
  PolicyBinding: policyBindingType,
  Secret: secretType,
} as const satisfies Record<string, ResourceType>;
export type KindName = keyof typeof KINDS;

const NAMES = ["a", "b"] as const;
const KIND_NAMES = Object.keys(KINDS) as KindName[];

export function randomCommands(random: SeededRandom, length: number): readonly Command[] {
  return Array.from({ length }, () => randomCommand(random));
}

function randomCommand(random: SeededRandom): Command {
  const target = { kind: random.pick(KIND_NAMES), name: random.pick(NAMES) };
  const make = random.pick(MAKERS);
  return make(random, target);
}

const MAKERS: readonly ((random: SeededRandom, target: Target) => Command)[] = [
  (_random, target) => ({ kind: "Get", target }),
  ...repeat(3, create),
  ...repeat(2, replace),
  ...repeat(3, patch),
  ...repeat(4, apply),
  ...repeat(2, remove),
  list,
];

function repeat<T>(times: number, item: T): readonly T[] {
  return Array.from({ length: times }, () => item);
}

function create(random: SeededRandom, target: Target): Command {
  const { kind, name } = target;
  const body = randomObject(random, kind);
  const metadata = { ...randomMetadata(random), name };
  return { kind: "Create", target, dryRun: random.chance(0.15), body: { ...body, metadata } };
}

function replace(random: SeededRandom, target: Target): Command {
  const status = hasStatus(target) && random.chance(0.4);
  const change = status
    ? { status: randomStatus(random, target.kind) }
    : randomObject(random, target.kind);
  return { kind: "Replace", target, status, change, ...guarded(random) };
}

function patch(random: SeededRandom, target: Target): Command {
  const status = hasStatus(target) && random.chance(0.3);
  const body = status
    ? { status: randomStatus(random, target.kind) }
    : randomPatch(random, target.kind);
  return { kind: "Patch", target, status, body, ...guarded(random) };
}

function apply(random: SeededRandom, target: Target): Command {
  const status = hasStatus(target) && random.chance(0.4);
  const { name } = target;
  const body = status
    ? {
        metadata: { name },
        status: { observedGeneration: 7, ...randomStatus(random, target.kind) },
      }
    : {
        ...applicable(randomObject(random, target.kind)),
        metadata: { ...randomMetadata(random), name },
      };
  const manager = random.pick(["iam-operator", "iam-operator", "other"]);
  return {
    kind: "Apply",
    target,
    status,
    body,
    manager,
    ...guarded(random),
  };
}

/**
 * Left out, since the operator does neither: applying stringData, which its owner owns under another name, and
 * applying nothing, which makes an owner of nothing.
 */
function applicable({ stringData: _, ...object }: Tree): Tree {
  return Object.keys(object).length > 0 ? object : { data: { only: "MQ==" } };
}

function remove(random: SeededRandom, target: Target): Command {
  return { kind: "Delete", target, ...guarded(random) };
}

function list(random: SeededRandom, { kind }: Target): Command {
  const selector = random.pick(["", "", "team=x", "team!=x", "team", "!team"]);
  return { kind: "List", of: kind, limit: random.pick([0, 1, 500]), selector };
}

function hasStatus({ kind }: Target): boolean {
  return kind !== "Secret";
}

function guarded(random: SeededRandom): Guarded {
  return {
    version: random.pick(["none", "none", "current", "current", "first", "wrong"]),
    uid: random.pick(["none", "none", "current", "current", "first", "wrong"]),
    dryRun: random.chance(0.1),
  };
}
