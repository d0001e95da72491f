/** Reads objects from files, as `kubectl apply` does. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { kinds } from "../../api/kinds.ts";
import { API_VERSION, GROUP } from "../../api/meta.ts";
import type { ObjectMeta } from "../../util/object-meta.ts";
import { toError } from "../../util/to-error.ts";
import type { Invocation } from "../cli/command.ts";
import { UsageError } from "../cli/errors.ts";
import { isCustomResource, kindOf } from "./kinds.ts";

export interface FileObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
}

/** Throws UsageError if a file does not exist or is not valid, or if the operator's API serves no such kind. */
export async function readObjects(invocation: Invocation): Promise<readonly FileObject[]> {
  const texts = await readTexts(invocation);
  const { loadDocuments } = await import("./yaml.ts");
  const objects = texts.flatMap(({ name, text }): readonly FileObject[] => {
    try {
      return loadDocuments(text).flatMap((document) => itemsOf(document, name));
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw new UsageError(`${name} is neither YAML nor JSON: ${toError(error).message}`);
    }
  });
  if (objects.length === 0) throw new UsageError("the files hold no object");
  return objects;
}

interface Text {
  readonly name: string;
  readonly text: string;
}

async function readTexts({ io, options }: Invocation): Promise<readonly Text[]> {
  const { filename = [], kustomize } = options;
  if ((filename.length === 0) === (kustomize === undefined))
    throw new UsageError("objects are required: give either -f FILE or -k FOLDER");
  if (kustomize !== undefined) return [await built(kustomize)];
  const files = filename.flatMap(filesOf);
  return Promise.all(
    files.map(async (name) => ({
      name,
      text: name === "-" ? await io.readInput() : readFileSync(name, "utf8"),
    })),
  );
}

function filesOf(name: string): readonly string[] {
  if (name === "-") return [name];
  const found = statSync(name, { throwIfNoEntry: false });
  if (found === undefined) throw new UsageError(`file ${name} does not exist`);
  if (!found.isDirectory()) return [name];
  return readdirSync(name)
    .filter((each) => /\.(ya?ml|json)$/.test(each))
    .toSorted()
    .map((each) => join(name, each));
}

async function built(folder: string): Promise<Text> {
  try {
    const { stdout } = await promisify(execFile)("kubectl", ["kustomize", folder], {
      maxBuffer: 64 * 1024 * 1024,
    });
    return { name: folder, text: stdout };
  } catch (error) {
    throw new UsageError(`kubectl kustomize ${folder} failed: ${toError(error).message}`);
  }
}

/** Replaces a list, such as the output of `kubectl get -o yaml`, by its items. */
function itemsOf(document: unknown, file: string): readonly FileObject[] {
  if (document === null || document === undefined) return [];
  const { apiVersion, kind, metadata, items } = document as Partial<
    FileObject & { items: unknown[] }
  >;
  if (Array.isArray(items)) return items.flatMap((item) => itemsOf(item, file));
  if (typeof kind !== "string" || typeof metadata?.name !== "string")
    throw new UsageError(`${file} holds a document without a kind or a name${hintFor(kind, file)}`);
  if (typeof apiVersion !== "string")
    throw new UsageError(`${file}: ${kind} ${metadata.name} lacks an apiVersion`);
  if (apiVersion.split("/")[0] === GROUP) checkServed(apiVersion, kind, metadata.name, file);
  return [document as FileObject];
}

function checkServed(apiVersion: string, kind: string, name: string, file: string): void {
  if (isCustomResource({ apiVersion, kind })) return;
  const served = kinds.map((each) => each.kind);
  const meant = served.find((each) => each.toLowerCase() === kind.toLowerCase());
  const hint = meant === undefined ? "" : `; write ${API_VERSION} ${meant}`;
  throw new UsageError(
    `${file}: ${kind} ${name} of ${apiVersion} is not served${hint} (served by ${API_VERSION}: ${served.join(", ")})`,
  );
}

function hintFor(kind: unknown, file: string): string {
  return kind === "Kustomization" ? `: give its folder with -k ${dirname(file)}` : "";
}

/** Puts the object into `namespace` unless the object names its own. */
export function placed(object: FileObject, namespace: string): FileObject {
  const isCluster = isCustomResource(object)
    ? kindOf(object.kind).scope === "Cluster"
    : object.kind === "Namespace";
  const metadata = isCluster ? object.metadata : { namespace, ...object.metadata };
  return { ...object, metadata };
}
