/** The order of a keyed list after an apply; follows `visitListItems` of structured-merge-diff. */

interface Walk {
  readonly live: readonly string[];
  readonly wanted: readonly string[];
  readonly inLive: ReadonlySet<string>;
  readonly inWanted: ReadonlySet<string>;
  /** What both have, in the order of what is wanted; taken from the front. */
  readonly shared: string[];
  readonly done: Set<string>;
  readonly out: string[];
  l: number;
  w: number;
}

/** Merges the elements of two lists; both come without duplicates. */
export function mergedOrder(live: readonly string[], wanted: readonly string[]): readonly string[] {
  const inLive = new Set(live);
  const walk: Walk = {
    live,
    wanted,
    inLive,
    inWanted: new Set(wanted),
    shared: wanted.filter((each) => inLive.has(each)),
    done: new Set(),
    out: [],
    l: 0,
    w: 0,
  };
  while (walk.l < live.length || walk.w < wanted.length) advance(walk);
  return walk.out;
}

function advance(walk: Walk): void {
  const left = walk.live[walk.l];
  const right = walk.wanted[walk.w];
  if (left !== undefined && right !== undefined) {
    if (left === right) {
      walk.l += 1;
      take(walk, right);
      return;
    }
    const next = walk.shared[0];
    if (walk.inWanted.has(left) && next !== undefined && next !== left) {
      walk.l += 1;
      return;
    }
  }
  if (left !== undefined) {
    if (!walk.inWanted.has(left)) {
      walk.out.push(left);
      walk.l += 1;
      return;
    }
    if (walk.done.has(left)) walk.l += 1;
  }
  if (right !== undefined) take(walk, right);
}

function take(walk: Walk, element: string): void {
  walk.out.push(element);
  walk.done.add(element);
  walk.w += 1;
  if (walk.shared[0] === element) walk.shared.shift();
}
