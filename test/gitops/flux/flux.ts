/** Flux's kustomize-controller on a control plane. What it applies comes from a folder, by HTTP: no git takes part. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Kubectl } from "../../../scripts/demo/kubectl.ts";
import type { ControlPlane } from "../../cluster/control-plane.ts";
import { freePorts } from "../../cluster/ports.ts";
import { startProgram } from "../../cluster/program.ts";
import { buildGoProgram, cacheFolder, type GoProgram } from "../../support/go-program.ts";
import { applyCrds, sourceOf } from "../crds.ts";

export const FLUX = "flux-system";

const MODULE = "github.com/fluxcd/kustomize-controller";
const VERSION = "v1.9.5";
/** Those of its other module, which its own go.sum lacks. */
const API_SUMS = `
${MODULE}/api ${VERSION} h1:Z4CA0cpC9rQmWiJWT9PCNO7+v3PVbAOK+5byHdbtFt8=
${MODULE}/api ${VERSION}/go.mod h1:oRSEvNgNs07P6Tu3xtRigWxnxLkUCqatxbDv+gG3tLI=
`;
/** Modules that have the CRDs. */
const modules = [`${MODULE}@${VERSION}`, `github.com/fluxcd/source-controller@${VERSION}`];

export interface Flux {
  /** Offers the files of a folder as the GitRepository `name`. */
  offer(name: string, folder: string): Promise<void>;
  readonly log: string;
  stop(): Promise<void>;
}

export async function startFlux(cluster: ControlPlane, kubectl: Kubectl): Promise<Flux> {
  const controller = await controllerProgram();
  const folder = await buildGoProgram(controller, (line) => console.log(line));
  for (const module of modules) await applyCrds(kubectl, module, "config/crd/bases");
  await kubectl(["create", "namespace", FLUX]);
  const artifacts = await serveArtifacts();
  const [metrics, health] = await freePorts(2);
  const program = startProgram({
    file: join(folder, controller.executable),
    args: [
      `--metrics-addr=127.0.0.1:${metrics}`,
      `--health-addr=127.0.0.1:${health}`,
      // Variables that nobody has set become empty texts, which is the default before kustomize-controller 1.9.
      "--feature-gates=StrictPostBuildSubstitutions=false",
    ],
    directory: cluster.directory,
    log: join(cluster.directory, "kustomize-controller.log"),
    environment: { KUBECONFIG: cluster.kubeconfig, RUNTIME_NAMESPACE: FLUX },
  });
  return {
    async offer(name, source) {
      const artifact = artifacts.add(name, source);
      await kubectl(["apply", "-f", "-"], JSON.stringify(repository(name)));
      const patch = JSON.stringify({ status: { artifact } });
      const at = ["gitrepository", name, `--namespace=${FLUX}`];
      await kubectl(["patch", ...at, "--subresource=status", "--type=merge", "--patch", patch]);
    },
    log: program.log,
    async stop() {
      await program.kill();
      artifacts.close();
    },
  };
}

/** Built with the dependencies that Flux builds it with, and with its other module from where Go modules come from. */
async function controllerProgram(): Promise<GoProgram> {
  const source = await sourceOf(`${MODULE}@${VERSION}`);
  const modfile = join(cacheFolder(), `kustomize-controller-${VERSION}.mod`);
  const read = (name: string) => readFileSync(join(source, name), "utf8");
  mkdirSync(cacheFolder(), { recursive: true });
  writeFileSync(modfile, read("go.mod").replace(`replace ${MODULE}/api => ./api`, ""));
  writeFileSync(modfile.replace(/mod$/, "sum"), `${read("go.sum").trimEnd()}${API_SUMS}`);
  return {
    name: "kustomize-controller",
    source,
    files: ["go.mod", "go.sum"],
    main: ".",
    executable: "kustomize-controller",
    links: [],
    linkerFlags: "-s -w",
    modfile,
  };
}

function repository(name: string): object {
  return {
    apiVersion: "source.toolkit.fluxcd.io/v1",
    kind: "GitRepository",
    metadata: { name, namespace: FLUX },
    spec: { url: "https://git.example.com/platform.git", interval: "1h" },
  };
}

/** What the source-controller does: an archive under an address, and its description. */
async function serveArtifacts() {
  const archives = new Map<string, Buffer>();
  const server = createServer(({ url = "" }, answer) => {
    const archive = archives.get(url);
    answer.writeHead(archive === undefined ? 404 : 200).end(archive);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    add(name: string, folder: string): object {
      const archive = execFileSync("tar", ["-czf", "-", "-C", folder, "."]);
      const path = `/${name}.tar.gz`;
      archives.set(path, archive);
      const digest = createHash("sha256").update(archive).digest("hex");
      return {
        path: path.slice(1),
        url: `http://127.0.0.1:${port}${path}`,
        revision: `main@sha256:${digest}`,
        digest: `sha256:${digest}`,
        size: archive.length,
        lastUpdateTime: new Date().toISOString(),
      };
    },
    close: () => void server.close(),
  };
}
