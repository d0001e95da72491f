/** What the kernel knows about a process. */
import { readFileSync } from "node:fs";
import { rounded } from "./statistics.ts";

const TICKS_PER_SECOND = 100;

/** Seconds of CPU that a process has used so far. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export function memoryMib(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) =>
    rounded(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1_024);
  return { now: read("VmRSS"), peak: read("VmHWM") };
}
