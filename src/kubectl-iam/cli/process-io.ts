import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { systemClock } from "../../util/time.ts";
import type { Io } from "./io.ts";

const NARROWEST = 40;
const ERASE_LINE = "\r\u001b[K";

/** The streams and the environment of this process. */
export function processIo(process: NodeJS.Process): Io {
  const { stdin, stdout, stderr, env } = process;
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
  const hasProgress = stderr.isTTY && env.TERM !== "dumb";
  return {
    clock: systemClock,
    environment: env,
    width: widthOf(stdout, env.COLUMNS),
    hasColor: stdout.isTTY && stdout.hasColors(),
    hasProgress,
    isInteractive: stdin.isTTY && stderr.isTTY,
    print: (line) => void stdout.write(`${line}\n`),
    note: (line) => void stderr.write(`${line}\n`),
    progress: (line) => {
      if (hasProgress)
        stderr.write(`${ERASE_LINE}${line?.slice(0, (stderr.columns || 80) - 1) ?? ""}`);
    },
    readInput: () => text(stdin),
    ask: (question, options) => ask(process, question, options?.hidden === true),
    interrupted: interrupted.signal,
  };
}

/** A terminal's own width; `COLUMNS` says it where there is none. */
function widthOf(stdout: NodeJS.WriteStream, columns: string | undefined): number | undefined {
  const width = stdout.isTTY ? stdout.columns : Number(columns);
  return width > 0 ? Math.max(width, NARROWEST) : undefined;
}

async function ask(
  { stdin, stderr }: NodeJS.Process,
  question: string,
  hidden: boolean,
): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  if (hidden) stderr.write(question);
  const lines = createInterface({ input: stdin, output: hidden ? silent : stderr, terminal: true });
  try {
    return await lines.question(hidden ? "" : question);
  } finally {
    lines.close();
    if (hidden) stderr.write("\n");
  }
}
