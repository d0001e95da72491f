/** The archive of kubectl-iam in a release. The same files always give the same bytes. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";

/** Packs what is in `folder` with its files at the top, since krew looks for the program there. */
export function packPlugin(folder: string, archive: string): void {
  const same = ["--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
  const files = readdirSync(folder).toSorted();
  execFileSync("tar", ["--create", "--gzip", `--file=${archive}`, ...same, "-C", folder, ...files]);
}
