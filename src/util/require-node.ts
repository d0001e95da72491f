/**
 * Ends the process with one line under a Node that cannot read the rest of the program. Entry files call this, and import
 * the rest on demand: a syntax error comes before any code runs. Uses nothing that Node 12 has not.
 */
const OLDEST = 24;

export function requireNode(program: string, exitStatus: number): void {
  const { node } = process.versions;
  if (Number(node.split(".")[0]) >= OLDEST) return;
  process.stderr.write(`${program} needs Node ${OLDEST} or later; this is Node ${node}.\n`);
  process.exit(exitStatus);
}
