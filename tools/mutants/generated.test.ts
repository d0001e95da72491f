import { expect, test } from "vitest";
import { mutantsIn } from "./generated.ts";

const SOURCE = `export function nextMs(first: number, second: number, isHeld: boolean): number {
  if (isHeld && first > 0) return Math.min(first, second);
  return !isHeld ? first : second;
}
export const words = (count: number) => (count === 1 ? "key" : "keys");
export const order = [nextMs, words];
`;

test("each operand, condition, branch and item is left out in turn, and which text is said stays", () => {
  const found = mutantsIn("src/kinds/some/rules/next.ts", SOURCE);
  expect(found.map(({ name }) => name.replace("some/rules/next.ts:", ""))).toEqual([
    "6: [nextMs, words] => [words]",
    "6: [nextMs, words] => [nextMs]",
    "2: (first, second) => (second)",
    "2: (first, second) => (first)",
    "2: isHeld && first > 0 => isHeld",
    "2: isHeld && first > 0 => first > 0",
    "2: (isHeld && first > 0) => (false)",
    "3: !isHeld ? first : second => first",
    "3: !isHeld ? first : second => second",
    "3: !isHeld => isHeld",
  ]);
  const [one] = found;
  expect(one?.mutated.text).toBe(SOURCE.replace("[nextMs, words]", "[words]"));
});

test("an object in place of a conditional is not the body of its arrow function", () => {
  const source = "export const next = (key: Key) => key.isOld ? { ...key, isOld: false } : key;\n";
  const found = mutantsIn("src/next.ts", source);
  expect(found.map(({ mutated }) => mutated.text)).toContain(
    "export const next = (key: Key) => ({ ...key, isOld: false });\n",
  );
});
