/** Builds images without a daemon and without a registry. Everything it keeps is in the cache. */
import { existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder } from "./cache.ts";
import { run } from "./execute.ts";
import type { Tools } from "./tools.ts";

export interface Build {
  readonly folder: string;
  readonly file: string;
  readonly tag: string;
  readonly flags?: readonly string[];
}

export interface Buildah {
  build(build: Build): Promise<void>;
  has(tag: string): Promise<boolean>;
  /** Bytes of the image's files. */
  size(tag: string): Promise<number>;
  inspect(tag: string): Promise<string>;
  /** Writes a docker-archive. */
  save(tag: string, archive: string): Promise<void>;
  /** Lends the image's files in a folder, as a copy. */
  withFiles<T>(tag: string, work: (folder: string) => Promise<T>): Promise<T>;
  /** Removes images that no name leads to. */
  prune(): Promise<void>;
}

export function createBuildah(tools: Tools): Buildah {
  const root = cacheFolder("images");
  const state = join(tmpdir(), `iam-operator-buildah-${process.pid}`);
  process.once("exit", () => rmSync(state, { recursive: true, force: true }));
  const env = { BUILDAH_ISOLATION: "chroot" };
  // Plain folders: a mount would be seen by buildah alone.
  const storage = ["--storage-driver=vfs", "--root", root, "--runroot", state];
  const buildah = (...args: readonly string[]) => {
    const command = tools.command("buildah", [...storage, ...args]);
    return run(...command, { env });
  };
  const withFiles = async <T>(tag: string, work: (folder: string) => Promise<T>) => {
    const container = (await buildah("from", "--pull-never", tag)).trim();
    try {
      return await work((await buildah("mount", container)).trim());
    } finally {
      await buildah("rm", container);
    }
  };
  return {
    build: async ({ folder, file, tag, flags = [] }) => {
      const fixed = ["--layers=false", "--pull-never", "--format=docker", "--quiet"];
      await buildah("build", ...fixed, ...flags, "--tag", tag, "--file", file, folder);
    },
    has: (tag) =>
      buildah("inspect", "--type=image", tag).then(
        () => true,
        () => false,
      ),
    size: (tag) =>
      withFiles(tag, async (folder) =>
        Number((await run("du", ["--summarize", "--bytes", folder])).split("\t")[0]),
      ),
    inspect: (tag) => buildah("inspect", "--type=image", tag),
    save: async (tag, archive) => {
      if (existsSync(archive)) rmSync(archive);
      await buildah("push", "--quiet", tag, `docker-archive:${archive}:${tag}`);
    },
    withFiles,
    prune: async () => {
      await buildah("rmi", "--prune");
    },
  };
}
