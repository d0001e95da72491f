/**
 * Programs that images and nodes are made with, without installing anything: Debian packages that this machine
 * lacks are unpacked into the cache, and laid over /usr and /etc in the mount namespace of the program that
 * needs them.
 */
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { cacheFolder } from "./cache.ts";
import { run } from "./execute.ts";

export type Progress = (line: string) => void;

/** This machine cannot do it, and that is nobody's fault. */
export class Unable extends Error {
  override readonly name = "Unable";
}

export interface Tools {
  /** Holds usr and etc of unpacked packages. */
  readonly folder: string;
  /** A command that runs `file` where the unpacked packages look as if installed. */
  command(file: string, args: readonly string[]): [string, string[]];
}

/** The Debian package that brings a program or a folder. */
const packages: Readonly<Record<string, string>> = {
  buildah: "buildah",
  runc: "runc",
  containerd: "containerd",
  iptables: "iptables",
  ip: "iproute2",
  conntrack: "conntrack",
  openssl: "openssl",
  "/usr/lib/cni/bridge": "containernetworking-plugins",
};

const overlay = `
for part in usr etc; do
  mount -t overlay tools -o "ro,lowerdir=$1/$part:/$part" "/$part"
done
# What programs leave behind in these is thrown away.
mount -t tmpfs tmpfs /mnt
for part in run var/lib; do
  mkdir -p "/mnt/$part/new" "/mnt/$part/work"
  mount -t overlay "$part" -o "lowerdir=/$part,upperdir=/mnt/$part/new,workdir=/mnt/$part/work" "/$part"
done
shift
exec "$@"`;

/** Throws Unable where there is no way to get the programs. */
export async function provideTools(onProgress: Progress): Promise<Tools> {
  requireRoot();
  const missing = Object.keys(packages).filter((name) => !isPresent(name));
  const folder = missing.length === 0 ? emptyTools() : await unpacked(missing, onProgress);
  const tools: Tools = {
    folder,
    command: (file, args) => [
      "unshare",
      ["--mount", "sh", "-eu", "-c", overlay, "sh", folder, file, ...args],
    ],
  };
  await run(...tools.command("true", [])).catch((cause: unknown) => {
    throw new Unable(`mounts are not allowed here: ${lastLine(cause)}`, { cause });
  });
  return tools;
}

/** Downloads the named packages, whether they are installed or not, and unpacks them into a new folder. */
export async function unpackPackages(names: readonly string[], into: string): Promise<void> {
  const downloads = `${into}.deb`;
  rmSync(downloads, { recursive: true, force: true });
  mkdirSync(downloads, { recursive: true });
  await withFreshLists(() => run("apt-get", ["download", ...names], { cwd: downloads }));
  await unpackAll(downloads, into);
  rmSync(downloads, { recursive: true });
}

function requireRoot(): void {
  if (process.platform !== "linux") throw new Unable("this is not Linux");
  if (process.getuid?.() !== 0) throw new Unable("root is needed, for namespaces and mounts");
  for (const name of ["unshare", "nsenter", "setpriv", "mount"])
    if (!isPresent(name)) throw new Unable(`there is no ${name} (package util-linux or mount)`);
}

function isPresent(name: string): boolean {
  if (name.startsWith("/")) return existsSync(name);
  const folders = `${process.env.PATH ?? ""}:/usr/sbin:/sbin`.split(delimiter);
  return folders.some((folder) => existsSync(join(folder, name)));
}

/** An overlay needs two folders, so that there is one even if nothing is missing. */
function emptyTools(): string {
  for (const part of ["usr", "etc"]) cacheFolder("tools-none", part);
  return cacheFolder("tools-none");
}

async function unpacked(missing: readonly string[], onProgress: Progress): Promise<string> {
  if (!isPresent("apt-get") || !isPresent("dpkg"))
    throw new Unable(`there is no ${missing.join(", ")}, and no apt-get to download them with`);
  const wanted = [...new Set(missing.map((name) => packages[name] ?? name))].sort();
  const key = createHash("sha256").update(wanted.join()).digest("hex").slice(0, 12);
  const folder = join(cacheFolder(), `tools-${key}`);
  if (existsSync(folder)) return folder;
  onProgress(
    `unpacking Debian packages into ${folder} (nothing is installed): ${wanted.join(" ")}`,
  );
  const unfinished = `${folder}.${process.pid}`;
  try {
    await download(wanted, join(unfinished, "deb"));
    await unpackAll(join(unfinished, "deb"), join(unfinished, "root"));
    settle(join(unfinished, "root"));
    renameSync(join(unfinished, "root"), folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}

/** The packages with those that they depend on and that are not installed. */
async function download(names: readonly string[], into: string): Promise<void> {
  mkdirSync(join(into, "partial"), { recursive: true });
  const options = ["--download-only", "--no-install-recommends", "--yes", "--no-upgrade"];
  await withFreshLists(() =>
    run("apt-get", ["install", ...options, "-o", `Dir::Cache::archives=${into}`, ...names]),
  );
}

async function withFreshLists(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch {
    try {
      await run("apt-get", ["update"]);
      await work();
    } catch (cause) {
      throw new Unable(`apt-get cannot download packages: ${lastLine(cause)}`, { cause });
    }
  }
}

function lastLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error)
    .split("\n")
    .slice(-1)
    .join();
}

async function unpackAll(downloads: string, into: string): Promise<void> {
  for (const file of readdirSync(downloads).filter((name) => name.endsWith(".deb")))
    await run("dpkg", ["-x", join(downloads, file), into]);
}

/** What an installation would do besides unpacking: one /usr for all, and the links of the alternatives. */
function settle(root: string): void {
  for (const part of ["etc", "usr"]) mkdirSync(join(root, part), { recursive: true });
  for (const part of ["bin", "sbin", "lib"]) {
    const folder = join(root, part);
    if (!existsSync(folder)) continue;
    cpSync(folder, join(root, "usr", part), { recursive: true, verbatimSymlinks: true });
    rmSync(folder, { recursive: true });
  }
  const sbin = join(root, "usr/sbin");
  if (!existsSync(join(sbin, "xtables-nft-multi"))) return;
  for (const program of ["iptables", "ip6tables"])
    for (const suffix of ["", "-save", "-restore"])
      symlinkSync("xtables-nft-multi", join(sbin, `${program}${suffix}`));
}
