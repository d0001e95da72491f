/**
 * Every interleaving of what is under way, to a depth, from every step of issuing keys of one account with two
 * replicas [Kivi's small scope].
 *
 * Method: a run is its choices, so that going back means to run again. Two orders of steps that do not touch each
 * other end in the same state, and one of them is enough: sleep sets leave the others out (Godefroid). Steps are
 * held to be independent where they happen in different places, or where both only read.
 */
import { createHash } from "node:crypto";
import type { Violation } from "./invariants.ts";
import { nameOf, SmallWorld, type Step } from "./small-scope-world.ts";

export interface SmallScope {
  /** Decisions from each start. */
  readonly depth: number;
  /** How many of them may be blows to the leader, or what a gateway does. */
  readonly blows: number;
  /** How many ApiKeys the account has: two or three. */
  readonly keys: number;
  /** One start in so many. */
  readonly every?: number;
  readonly onProgress?: (report: SmallScopeReport) => void;
}

export interface SmallScopeReport {
  readonly starts: number;
  /** Runs to the end. */
  readonly paths: number;
  /** Runs given up since they would only have repeated another order of the same steps. */
  readonly cut: number;
  readonly steps: number;
  readonly states: number;
  readonly failures: readonly {
    readonly path: string;
    readonly violations: readonly Violation[];
  }[];
}

interface Branch {
  readonly choices: readonly number[];
  /** Steps that another branch takes first, by name. */
  readonly asleep: ReadonlyMap<string, Step>;
}

export async function exploreSmallScope(scope: SmallScope): Promise<SmallScopeReport> {
  const tally: Tally = { starts: 0, paths: 0, cut: 0, steps: 0, states: new Set(), failures: [] };
  for (
    let start = 1;
    (await SmallWorld.at(start, scope.keys)) !== undefined;
    start += scope.every ?? 1
  ) {
    tally.starts += 1;
    await exploreFrom(start, scope, tally);
    scope.onProgress?.({ ...tally, states: tally.states.size });
  }
  return { ...tally, states: tally.states.size };
}

interface Tally extends Omit<SmallScopeReport, "states" | "failures"> {
  starts: number;
  paths: number;
  cut: number;
  steps: number;
  readonly states: Set<string>;
  readonly failures: SmallScopeReport["failures"][number][];
}

async function exploreFrom(start: number, scope: SmallScope, tally: Tally): Promise<void> {
  const branches: Branch[] = [{ choices: [], asleep: new Map() }];
  for (let branch = branches.pop(); branch !== undefined; branch = branches.pop()) {
    const { path, steps, violations } = await walk(start, branch, scope, branches, tally.states);
    tally.steps += steps;
    if (violations === undefined) tally.cut += 1;
    else tally.paths += 1;
    if (violations !== undefined && violations.length > 0)
      tally.failures.push({ path, violations });
  }
}

interface End {
  readonly path: string;
  readonly steps: number;
  /** Absent where the run was given up. */
  readonly violations: readonly Violation[] | undefined;
}

/** One run: along the branch, and from its end always the first step that is not asleep; the others become branches. */
async function walk(
  start: number,
  { choices, asleep }: Branch,
  scope: SmallScope,
  branches: Branch[],
  states: Set<string>,
): Promise<End> {
  const world = await SmallWorld.at(start, scope.keys);
  if (world === undefined) throw new Error(`there is no step ${start}`);
  const taken: number[] = [];
  const trace = new Trace(start);
  let sleeping = asleep;
  let blows = 0;
  while (taken.length < scope.depth) {
    const enabled = world.enabled.filter(({ kind }) => kind === "Event" || blows < scope.blows);
    const forced = choices[taken.length];
    const open = forced === undefined ? awake(enabled, sleeping) : [forced];
    const [next] = open;
    if (next === undefined)
      return { path: pathOf(start, taken), steps: taken.length, violations: undefined };
    const step = enabled[next] as Step;
    if (forced === undefined) {
      branchOff(taken, enabled, open, sleeping, branches);
      sleeping = onlyIndependent(sleeping, step);
    }
    await world.take(step);
    taken.push(next);
    if (step.kind !== "Event") blows += 1;
    states.add(trace.note(step));
  }
  return { path: pathOf(start, taken), steps: taken.length, violations: await world.finish() };
}

/** Runs one path again, and tells each step of it. */
export async function replay(
  path: string,
  keys: number,
  tell: (step: string) => void,
): Promise<readonly Violation[]> {
  const [start = "1", choices = ""] = path.split(":");
  const world = await SmallWorld.at(Number(start), keys);
  if (world === undefined) throw new Error(`there is no step ${start}`);
  for (const choice of choices.split(".").filter((text) => text !== "")) {
    const step = world.enabled[Number(choice)];
    if (step === undefined) throw new Error(`nothing to choose by ${choice}`);
    tell(nameOf(step));
    await world.take(step);
  }
  return await world.finish();
}

function pathOf(start: number, taken: readonly number[]): string {
  return `${start}:${taken.join(".")}`;
}

function awake(enabled: readonly Step[], asleep: Branch["asleep"]): readonly number[] {
  return enabled.flatMap((step, index) => (asleep.has(nameOf(step)) ? [] : [index]));
}

function branchOff(
  taken: readonly number[],
  enabled: readonly Step[],
  open: readonly number[],
  asleep: Branch["asleep"],
  branches: Branch[],
): void {
  const before = new Map(asleep);
  for (const [order, index] of open.entries()) {
    const step = enabled[index] as Step;
    if (order > 0)
      branches.push({ choices: [...taken, index], asleep: onlyIndependent(before, step) });
    before.set(nameOf(step), step);
  }
}

function onlyIndependent(asleep: Branch["asleep"], step: Step): Branch["asleep"] {
  return new Map([...asleep].filter(([, other]) => areIndependent(other, step)));
}

function areIndependent(one: Step, other: Step): boolean {
  if (one.kind !== "Event" || other.kind !== "Event") return false;
  if (one.label.to !== other.label.to) return true;
  return one.label.isRead && other.label.isRead;
}

/** Names a state by what has happened in each place, in order; reads by what they saw. */
class Trace {
  readonly #places = new Map<string, string>();
  readonly #reads: string[] = [];

  constructor(start: number) {
    this.#places.set("start", String(start));
  }

  /** The state after one more step. */
  note(step: Step): string {
    if (step.kind !== "Event") {
      for (const place of [...this.#places.keys()]) this.#append(place, nameOf(step));
    } else if (step.label.isRead) {
      this.#reads.push(`${step.label.name} of ${this.#places.get(step.label.to) ?? ""}`);
    } else this.#append(step.label.to, step.label.name);
    return digest([...this.#places.entries()].sort().join("|") + [...this.#reads].sort().join("|"));
  }

  #append(place: string, what: string): void {
    this.#places.set(place, digest(`${this.#places.get(place) ?? ""}>${what}`));
  }
}

function digest(text: string): string {
  return createHash("sha1").update(text).digest("base64").slice(0, 16);
}
