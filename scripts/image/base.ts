/** Makes the base images of the tests from Debian packages, where there is no registry to take any from. */
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Buildah } from "./buildah.ts";
import { busybox } from "./busybox.ts";
import { run } from "./execute.ts";
import { type Progress, unpackPackages } from "./tools.ts";

const npm = "npm@11.21.2";
const libraries = ["libc6", "libstdc++6", "libgcc-s1", "ca-certificates"];

export interface Bases {
  readonly runtime: string;
  readonly build: string;
}

/** Makes them unless they are there already. */
export async function provideBases(buildah: Buildah, onProgress: Progress): Promise<Bases> {
  const tag = `${process.versions.node}-1`;
  const bases = {
    runtime: `localhost/iam-operator-base:${tag}`,
    build: `localhost/iam-operator-build-base:${tag}`,
  };
  if ((await buildah.has(bases.runtime)) && (await buildah.has(bases.build))) return bases;
  onProgress(`making the base images: ${libraries.join(", ")} of Debian, Node ${tag}, ${npm}`);
  const folder = join(tmpdir(), `iam-operator-base-${process.pid}`);
  try {
    await writeLibraries(join(folder, "libraries"));
    copyFileSync(process.execPath, join(folder, "node"));
    await writeTools(join(folder, "tools"));
    const file = join(import.meta.dirname, "base.Dockerfile");
    for (const target of ["runtime", "build"] as const)
      await buildah.build({ folder, file, tag: bases[target], flags: [`--target=${target}`] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return bases;
}

async function writeLibraries(folder: string): Promise<void> {
  await unpackPackages(libraries, folder);
  for (const unused of ["doc", "lintian", "locale", "man"])
    rmSync(join(folder, "usr/share", unused), { recursive: true, force: true });
  for (const unused of globSync("{,usr/}lib/*/gconv", { cwd: folder }))
    rmSync(join(folder, unused), { recursive: true });
  write(folder, "etc/passwd", "root:x:0:0::/root:/nologin\napp:x:65532:65532::/tmp:/nologin\n");
  write(folder, "etc/group", "root:x:0:\napp:x:65532:\n");
  const authorities = globSync("usr/share/ca-certificates/mozilla/*.crt", { cwd: folder }).sort();
  const bundle = authorities.map((file) => readFileSync(join(folder, file), "utf8")).join("");
  write(folder, "etc/ssl/certs/ca-certificates.crt", bundle);
  mkdirSync(join(folder, "tmp"), { mode: 0o777 });
  await run("chmod", ["1777", join(folder, "tmp")]);
}

/** A shell and npm. */
async function writeTools(folder: string): Promise<void> {
  mkdirSync(join(folder, "bin"), { recursive: true });
  copyFileSync(await busybox(), join(folder, "bin/busybox"));
  const unpacked = join(folder, "../npm");
  mkdirSync(unpacked, { recursive: true });
  await run("npm", ["pack", npm, "--silent"], { cwd: unpacked });
  const archive = globSync("npm-*.tgz", { cwd: unpacked })[0] ?? "";
  await run("tar", ["-xzf", archive], { cwd: unpacked });
  const home = join(folder, "usr/local/lib/node_modules/npm");
  mkdirSync(dirname(home), { recursive: true });
  cpSync(join(unpacked, "package"), home, { recursive: true });
  mkdirSync(join(folder, "usr/local/bin"));
  for (const name of ["npm", "npx"])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(folder, "usr/local/bin", name));
  mkdirSync(join(folder, "usr/bin"), { recursive: true });
  symlinkSync("/bin/busybox", join(folder, "usr/bin/env"));
}

function write(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
