/** Of V8's young generation, in MiB. Unbounded, it grows to 16, and the process to half as much again. */
const SEMI_SPACE_MIB = 8;
const FLAG = "--max-semi-space-size";

/**
 * Starts the program again with a bounded young generation, in the same process and with the same arguments, unless a flag
 * or NODE_OPTIONS bounds it already. Node applies the flag only at its start.
 */
export function boundYoungGeneration(): void {
  const { execPath, execArgv, argv, env, platform } = process;
  const isBounded = [...execArgv, env.NODE_OPTIONS ?? ""].some((text) => text.includes(FLAG));
  if (isBounded || platform === "win32") return;
  const flag = `${FLAG}=${SEMI_SPACE_MIB}`;
  process.execve?.(execPath, [execPath, flag, ...execArgv, ...argv.slice(1)], env);
}
