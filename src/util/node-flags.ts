/**
 * Limit of a semi-space in V8's young generation, in MiB. Without a limit, it grows to 16 MiB, and the process needs
 * half as much memory again.
 */
const SEMI_SPACE_MIB = 8;
const FLAG = "--max-semi-space-size";

/**
 * Restarts the program with a bounded young generation, in the same process and with the same arguments, unless a flag
 * or NODE_OPTIONS already sets a bound. Node applies the flag only at its start.
 */
export function boundYoungGeneration(): void {
  const { execPath, execArgv, argv, env, platform } = process;
  const isBounded = [...execArgv, env.NODE_OPTIONS ?? ""].some((text) => text.includes(FLAG));
  if (isBounded || platform === "win32") return;
  const flag = `${FLAG}=${SEMI_SPACE_MIB}`;
  process.execve?.(execPath, [execPath, flag, ...execArgv, ...argv.slice(1)], env);
}
