/**
 * Ends the process with one line on a Node version that cannot parse the rest of the program. Entry files call this
 * function first and import the rest on demand, because a syntax error occurs before any code runs. Uses only features
 * of Node 12.
 */
const OLDEST = 24;

export function requireNode(program: string, exitStatus: number): void {
  const { node } = process.versions;
  if (Number(node.split(".")[0]) >= OLDEST) return;
  process.stderr.write(`${program} needs Node ${OLDEST} or later; this is Node ${node}.\n`);
  process.exit(exitStatus);
}
