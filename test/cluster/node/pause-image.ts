import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { busybox } from "../../../scripts/image/busybox.ts";
import { run } from "../../../scripts/image/execute.ts";

/** The image of the container that holds the namespaces of a Pod and does nothing. Answers an archive. */
export async function pauseImage(folder: string): Promise<string> {
  mkdirSync(join(folder, "layer/bin"), { recursive: true });
  copyFileSync(await busybox(), join(folder, "layer/bin/sleep"));
  const layer = join(folder, "layer.tar");
  await run("tar", ["-C", join(folder, "layer"), "-cf", layer, "bin"]);
  const digest = createHash("sha256").update(readFileSync(layer)).digest("hex");
  const config = {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Entrypoint: ["/bin/sleep", "2147483647"] },
    rootfs: { type: "layers", diff_ids: [`sha256:${digest}`] },
    history: [{ comment: "pause" }],
  };
  const manifest = [
    { Config: "config.json", RepoTags: ["localhost/pause:1"], Layers: ["layer.tar"] },
  ];
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  const archive = join(folder, "pause.tar");
  if (!existsSync(archive))
    await run("tar", ["-C", folder, "-cf", archive, "manifest.json", "config.json", "layer.tar"]);
  return archive;
}
