/**
 * Refuses a snapshot that is used after an effect has made it stale: if `yield* effect(s)` returns a newer snapshot, the
 * run must go on with the newer one. The branch of a failed effect (`instanceof`) may use the snapshot before it.
 */
import { join, relative } from "node:path";
import type { Identifier, Node, YieldExpression } from "typescript/unstable/ast";
import {
  isBinaryExpression,
  isBlock,
  isCallExpression,
  isConditionalExpression,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isIfStatement,
  isMethodDeclaration,
  isReturnStatement,
  isYieldExpression,
} from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";

const root = join(import.meta.dirname, "..");
const api = new API();
const state = api.updateSnapshot({ openProjects: [join(root, "tsconfig.json")] });
const [project] = state.getProjects();
if (project === undefined) throw new Error("tsconfig.json has no project");
const { program, checker } = project;

function isFunction(node: Node): boolean {
  return isFunctionDeclaration(node) || isFunctionExpression(node) || isMethodDeclaration(node);
}

/** All nodes below; of a function, without those of functions within it. */
function nodesBelow(node: Node, isWithin = isFunction(node)): readonly Node[] {
  const found: Node[] = [];
  node.forEachChild((child) => {
    found.push(child);
    if (!isWithin || !isFunction(child)) found.push(...nodesBelow(child, isWithin));
  });
  return found;
}

/** From the node to its function, without the function. */
function ancestorsOf({ parent }: Node): readonly Node[] {
  return parent === undefined || isFunction(parent) ? [] : [parent, ...ancestorsOf(parent)];
}

/** The snapshot that the effect is given, if the effect returns a newer one. */
function givenTo({ expression: effect }: YieldExpression): Identifier | undefined {
  const [given] = effect !== undefined && isCallExpression(effect) ? effect.arguments : [];
  if (effect === undefined || given === undefined || !isIdentifier(given)) return undefined;
  const isNewer = has(effect.parent, "object") || has(effect.parent, "snapshot");
  return has(given, "object") && isNewer ? given : undefined;
}

/** Whether the expression can be an object with that property. */
function has(expression: Node, property: string): boolean {
  const type = checker.getTypeAtLocation(expression);
  const types = type?.isUnionType() ? type.getTypes() : [type];
  return types.some((each) => each && checker.getPropertyOfType(each, property) !== undefined);
}

function usesAfter(effect: YieldExpression, within: readonly Node[]): readonly Node[] {
  const given = givenTo(effect);
  const around = ancestorsOf(effect);
  if (given === undefined || around.some(isReturnStatement)) return [];
  const isReplaced = around.some(
    (each) => isBinaryExpression(each) && each.left.getText() === given.text,
  );
  if (isReplaced) return [];
  const block = around.find((each) => isBlock(each) && each.statements.some(isReturnStatement));
  const end = block?.end ?? Number.POSITIVE_INFINITY;
  return within.filter(
    (node) =>
      isIdentifier(node) &&
      node.text === given.text &&
      node.pos >= effect.end &&
      node.end <= end &&
      !isElsewhere(node, effect),
  );
}

/** Whether the use is in a branch that is not taken after the effect, or only after its failure. */
function isElsewhere(use: Node, effect: Node): boolean {
  return ancestorsOf(use).some((each) => {
    const [condition, first, second] = isIfStatement(each)
      ? [each.expression, each.thenStatement, each.elseStatement]
      : isConditionalExpression(each)
        ? [each.condition, each.whenTrue, each.whenFalse]
        : [];
    if (contains(first, use))
      return contains(second, effect) || /\binstanceof\b/.test(condition?.getText() ?? "");
    return contains(second, use) && contains(first, effect);
  });
}

function contains(outer: Node | undefined, inner: Node): boolean {
  return outer !== undefined && outer.pos <= inner.pos && inner.end <= outer.end;
}

let count = 0;
for (const file of program.getSourceFileNames()) {
  const path = relative(root, file);
  // An effect itself adds its answer to the snapshot before it.
  const source = /^src\/kinds\/[^/]+\/[^/]+$/.test(path) ? program.getSourceFile(file) : undefined;
  if (source === undefined) continue;
  for (const generator of nodesBelow(source).filter(isFunction)) {
    const nodes = nodesBelow(generator);
    const effects = nodes.filter(isYieldExpression);
    count += effects.length;
    for (const use of effects.flatMap((effect) => usesAfter(effect, nodes))) {
      const { line } = source.getLineAndCharacterOfPosition(use.getStart(source));
      console.log(
        `${path}:${line + 1}: ${use.getText(source)} is stale: an effect has returned a newer one`,
      );
      process.exitCode = 1;
    }
  }
}
if (count < 50) throw new Error("the runs were not found");
api.close();
