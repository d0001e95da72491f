/** `npm run sim -- --years 2 [--keys N]`: the keys are shared out among threads, each with a world of its own. */
import { Worker } from "node:worker_threads";
import type { Violation } from "./invariants.ts";
import type { Years, YearsOptions } from "./years.ts";

export interface YearsCommand extends Pick<YearsOptions, "years" | "keys" | "seed"> {
  readonly threads: number;
  readonly onProgress: (line: string) => void;
}

export interface YearsReport {
  readonly keys: number;
  readonly issued: number;
  readonly renewals: number;
  readonly heldUp: number;
  readonly orphaned: number;
  readonly outages: number;
  readonly crashes: number;
  /** Renewals an hour: on average, in the busiest one, and as many as there may be. */
  readonly mean: number;
  readonly busiest: number;
  readonly allowed: number;
  readonly violations: readonly Violation[];
}

export async function runYears(command: YearsCommand): Promise<YearsReport> {
  const { keys, threads, seed } = command;
  const shares = Array.from({ length: threads }, (_, index) => {
    const share = Math.floor(keys / threads) + (index < keys % threads ? 1 : 0);
    return { ...command, keys: share, seed: seed + index };
  });
  const all = await Promise.all(shares.map((share, index) => live(share, index + 1)));
  return reportOf(keys, all);
}

function live({ onProgress, threads: _, ...workerData }: YearsCommand, index: number) {
  return new Promise<Years>((resolve, reject) => {
    const worker = new Worker(new URL("./years-member.ts", import.meta.url), {
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    });
    worker.on("error", reject);
    worker.on("message", (message: { line: string } | { years: Years }) => {
      if ("line" in message) onProgress(`world ${index}, ${message.line}`);
      else resolve(message.years);
    });
  });
}

function reportOf(keys: number, all: readonly Years[]): YearsReport {
  const sum = (of: (each: Years) => number) => all.reduce((total, each) => total + of(each), 0);
  const hours = Math.max(...all.map(({ renewals }) => renewals.length));
  const byHour = Array.from({ length: hours }, (_, hour) =>
    sum(({ renewals }) => renewals[hour] ?? 0),
  );
  const renewals = byHour.reduce((total, count) => total + count, 0);
  // Before the first renewal there is none to count.
  const first = byHour.findIndex((count) => count > 0);
  const mean = first < 0 ? 0 : renewals / (hours - first);
  const busiest = Math.max(0, ...byHour);
  const allowed = mostByChance(mean, hours - first);
  const herd = `${busiest} renewals in one hour, ${allowed} allowed`;
  return {
    keys,
    issued: sum(({ issued }) => issued),
    renewals,
    heldUp: sum(({ late }) => late),
    orphaned: sum(({ orphaned }) => orphaned),
    outages: sum(({ outages }) => outages.length),
    crashes: sum(({ crashes }) => crashes),
    mean: Math.round(mean * 100) / 100,
    busiest,
    allowed,
    violations: [
      ...all.flatMap(({ violations }) => violations),
      ...(busiest > allowed
        ? [{ invariant: "herd", what: herd, at: byHour.indexOf(busiest) }]
        : []),
    ],
  };
}

const ODDS = 1 / 1_000;

/**
 * Three times the mean; or, where the mean is a small number, what chance alone stays below in all of these hours but
 * for one case in a thousand. Renewals that know nothing of each other come as a Poisson process does.
 */
function mostByChance(mean: number, hours: number): number {
  let rest = 1 - Math.exp(-mean);
  let term = Math.exp(-mean);
  let count = 0;
  while (rest * hours > ODDS) {
    count += 1;
    term *= mean / count;
    rest -= term;
  }
  return Math.max(Math.ceil(3 * mean), count);
}
