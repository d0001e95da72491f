/** Draws trees in the format of `kubectl tree`. Pure. */

export interface Node<Value> {
  readonly value: Value;
  readonly children: readonly Node<Value>[];
}

interface Branch<Value> {
  readonly value: Value;
  /** The branch lines in front of the node. */
  readonly lines: string;
}

/** From the top down, each node with its branch lines. */
export function drawTree<Value>(nodes: readonly Node<Value>[]): readonly Branch<Value>[] {
  return nodes.flatMap(({ value, children }) => [
    { value, lines: "" },
    ...drawChildren(children, ""),
  ]);
}

function drawChildren<Value>(
  nodes: readonly Node<Value>[],
  before: string,
): readonly Branch<Value>[] {
  return nodes.flatMap(({ value, children }, index) => {
    const isLast = index === nodes.length - 1;
    return [
      { value, lines: `${before}${isLast ? "└─" : "├─"}` },
      ...drawChildren(children, `${before}${isLast ? "  " : "│ "}`),
    ];
  });
}
