import { basename } from "node:path";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { systemClock } from "../../util/time.ts";
import { decodeUtf8 } from "../../util/utf8.ts";
import { escapeControls } from "../view/screen.ts";
import { UsageError } from "./errors.ts";
import type { Io } from "./io.ts";

const NARROWEST = 40;
const ERASE_LINE = "\r\u001b[K";

/**
 * The streams and the environment of this process. Suggested commands use the name under which this program was called,
 * because krew installs the program under another name.
 */
export function processIo(process: NodeJS.Process): Io {
  const asCalled = namerFor(process.argv[1] ?? "");
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
    print: (line) => {
      stdout.write(`${asCalled(escapeControls(line))}\n`);
    },
    note: (line) => {
      stderr.write(`${asCalled(escapeControls(line))}\n`);
    },
    progress: (line) => {
      if (hasProgress)
        stderr.write(
          `${ERASE_LINE}${escapeControls(line ?? "").slice(0, (stderr.columns || 80) - 1)}`,
        );
    },
    readInput: async () => {
      const decoded = decodeUtf8(await buffer(stdin));
      if (decoded.ok) return decoded.text;
      throw new UsageError(`standard input must be UTF-8 text, not ${decoded.found}`);
    },
    ask: (question, options) => ask(process, question, options?.hidden === true),
    interrupted: interrupted.signal,
  };
}

/** `kubectl-iam_operator` becomes `kubectl iam-operator`, as in kubectl's lookup of plugins. */
function namerFor(program: string): (text: string) => string {
  const [, name] = /^kubectl-(\w+)$/.exec(basename(program)) ?? [];
  if (name === undefined || name === "iam") return (text) => text;
  return (text) => text.replaceAll(/\bkubectl iam(?= |$)/g, `kubectl ${name.replaceAll("_", "-")}`);
}

/** The terminal's width; without a terminal, `COLUMNS`. */
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
