/** Builds the operator's image from the sources of this project. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../src/app/version.ts";
import { type Bases, provideBases } from "./base.ts";
import { type Buildah, createBuildah } from "./buildah.ts";
import { copySources } from "./bundle.ts";
import { run } from "./execute.ts";
import { type Progress, provideTools, type Tools } from "./tools.ts";

export const root = join(import.meta.dirname, "../..");

export interface BuiltImage {
  readonly tag: string;
  readonly bases: Bases;
  readonly buildah: Buildah;
  readonly tools: Tools;
  /** A copy of the sources that the image was built from; it goes when this process ends. */
  readonly sources: string;
}

/** Throws Unable where this machine cannot build images. With `reuse`, an image of an earlier run will do. */
export async function buildImage(
  onProgress: Progress,
  { reuse = false } = {},
): Promise<BuiltImage> {
  const tools = await provideTools(onProgress);
  const buildah = createBuildah(tools);
  const bases = await provideBases(buildah, onProgress);
  const tag = "localhost/iam-operator:test";
  const sources = copySources();
  process.once("exit", () => rmSync(sources, { recursive: true, force: true }));
  if (reuse && (await buildah.has(tag))) return { tag, bases, buildah, tools, sources };
  onProgress("building the image");
  await buildah.build({
    folder: sources,
    file: join(sources, "Dockerfile"),
    tag,
    flags: [
      // npm has to reach its registry as this machine does.
      "--network=host",
      ...trust(),
      `--build-arg=BUILD_BASE=${bases.build}`,
      `--build-arg=BASE=${bases.runtime}`,
      `--build-arg=VERSION=${version}`,
      `--build-arg=REVISION=${await revision()}`,
    ],
  });
  await buildah.prune();
  return { tag, bases, buildah, tools, sources };
}

/** Where a machine keeps the authorities that its own programs trust; a Node of its own knows none but the usual. */
const AUTHORITIES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/** Has the build trust whom this machine trusts: there may be a proxy before the registry. */
function trust(): readonly string[] {
  const files = [process.env.NODE_EXTRA_CA_CERTS, process.env.SSL_CERT_FILE, ...AUTHORITIES];
  const file = files.find((each) => each && existsSync(each));
  if (file === undefined) return [];
  return [
    `--volume=${file}:/extra-authorities.crt:ro`,
    "--build-arg=NODE_EXTRA_CA_CERTS=/extra-authorities.crt",
  ];
}

function revision(): Promise<string> {
  return run("git", ["rev-parse", "HEAD"], { cwd: root }).then(
    (text) => text.trim(),
    () => "",
  );
}
