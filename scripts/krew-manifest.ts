/**
 * Prints the manifest by which krew installs kubectl-iam from a release.
 *
 *   node scripts/krew-manifest.ts --archive kubectl-iam.tar.gz --uri https://…/kubectl-iam.tar.gz
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { version } from "../src/app/version.ts";

/** In krew's index names are unique, and must say whose tool a plugin is for; krew's file is called so, too. */
export const KREW_NAME = "iam-operator";

const systems = ["linux", "darwin"] as const;

export interface Archive {
  readonly bytes: Uint8Array;
  readonly uri: string;
  /** Where people read about it. */
  readonly homepage: string;
}

/** The archive is the same everywhere: it needs Node, and is not made for a processor. */
export function toKrewManifest({ bytes, uri, homepage }: Archive): object {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: KREW_NAME },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: "Look after IAM service accounts and API keys",
      description:
        "Shows what is ready and what to do next about the service accounts, API keys and policy bindings of " +
        "iam-operator; rotates, suspends and revokes; makes every call of the console; finds out why a call is denied.",
      caveats: "Needs Node 24 or later on PATH.\n",
      platforms: systems.map((os) => ({
        selector: { matchLabels: { os } },
        uri,
        sha256,
        bin: "kubectl-iam.mjs",
      })),
    },
  };
}

if (import.meta.main) {
  const string = { type: "string" } as const;
  const { values } = parseArgs({ options: { archive: string, uri: string, homepage: string } });
  const { archive, uri, homepage } = values;
  if (archive === undefined || uri === undefined || homepage === undefined) {
    console.error("usage: node scripts/krew-manifest.ts --archive FILE --uri URL --homepage URL");
    process.exitCode = 2;
  } else {
    const manifest = toKrewManifest({ bytes: readFileSync(archive), uri, homepage });
    process.stdout.write(stringify(manifest));
  }
}
