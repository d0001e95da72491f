/** Trees as `tree` and `kubectl tree` draw them. Pure. */

export interface Node<Value> {
  readonly value: Value;
  readonly children: readonly Node<Value>[];
}

export interface Branch<Value> {
  readonly value: Value;
  /** The lines that lead to it. */
  readonly lines: string;
}

/** From the top down, each node with the lines in front of it. */
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
