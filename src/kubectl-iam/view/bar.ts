/** Renders a share as a bar. Pure. */

const WIDTH = 10;

/** `[####......]` for a share from 0 to 1; full if the share is greater. */
export function bar(share: number): string {
  const filled = Math.round(Math.min(Math.max(share, 0), 1) * WIDTH);
  return `[${"#".repeat(filled)}${".".repeat(WIDTH - filled)}]`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}
