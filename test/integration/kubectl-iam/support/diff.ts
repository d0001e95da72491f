/** `kubectl iam diff` of objects in a file. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInProcess } from "../../../unit/kubectl-iam/support/in-process.ts";
import type { Ended } from "../../../unit/kubectl-iam/support/plugin.ts";
import type { Scene } from "./scene.ts";

export const API = "iam-operator.io/v1alpha1";

export interface Differ {
  /** Writes the objects as a List and returns the file. */
  readonly write: (objects: readonly object[]) => string;
  readonly diff: (objects: readonly object[], args?: string) => Promise<Ended>;
  readonly apply: (objects: readonly object[]) => Promise<void>;
}

export function differ({ plugin, world }: Pick<Scene, "plugin" | "world">): Differ {
  const write = (objects: readonly object[]) => {
    const file = join(plugin.folder, "given.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    return file;
  };
  return {
    write,
    diff: async (objects, args = "") => {
      const line = `diff -f ${write(objects)} --kubeconfig ${plugin.kubeconfig} ${args}`;
      const ended = await runInProcess(line.trim().split(" "));
      world.logs.push(ended.output, ended.notes);
      return ended;
    },
    apply: async (objects) => {
      const { code, notes } = await plugin.shell(`kubectl apply -f ${write(objects)}`);
      if (code !== 0) throw new Error(notes);
    },
  };
}

export function object(kind: string, name: string, spec?: object, metadata: object = {}) {
  return { apiVersion: API, kind, metadata: { name, ...metadata }, ...(spec && { spec }) };
}
