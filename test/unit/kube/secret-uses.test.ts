import { expect, test } from "vitest";
import type { Container, PodSpec } from "../../../src/kube/resource-types.ts";
import { secretUses } from "../../../src/kube/secret-uses.ts";

const volumes = [
  { name: "key", secret: { secretName: "ci" } },
  { name: "all", projected: { sources: [{ secret: { name: "ci" } }, {}] } },
  { name: "config" },
];
const mount = (name: string, more: object = {}) => ({ volumeMounts: [{ name, ...more }] });
const app = (container: Omit<Container, "name">): PodSpec => ({
  containers: [{ name: "app", ...container }],
  volumes,
});
const before = (container: Omit<Container, "name">): PodSpec => ({
  containers: [{ name: "app" }],
  initContainers: [{ name: "first", ...container }],
  volumes,
});
const variable = { env: [{}, { valueFrom: { secretKeyRef: { name: "ci" } } }] };

test.each<[string, PodSpec, readonly string[]]>([
  ["a variable", app(variable), ["ci app atStart"]],
  [
    "all entries as variables",
    app({ envFrom: [{ secretRef: { name: "ci" } }, {}] }),
    ["ci app atStart"],
  ],
  ["files", app(mount("key")), ["ci app"]],
  ["files of a projected volume", app(mount("all")), ["ci app"]],
  ["one file by subPath", app(mount("key", { subPath: "secret" })), ["ci app atStart"]],
  ["one file by subPathExpr", app(mount("all", { subPathExpr: "$(X)" })), ["ci app atStart"]],
  ["an empty subPath, which is none", app(mount("key", { subPath: "" })), ["ci app"]],
  ["files of an init container", before(mount("key")), ["ci first atStart"]],
  [
    "files of an init container that goes on running",
    before({ ...mount("key"), restartPolicy: "Always" }),
    ["ci first"],
  ],
  [
    "a variable of a sidecar",
    before({ ...variable, restartPolicy: "Always" }),
    ["ci first atStart"],
  ],
  ["both", app({ ...variable, ...mount("key") }), ["ci app atStart", "ci app"]],
  ["another Secret", app({ envFrom: [{ secretRef: { name: "other" } }] }), ["other app atStart"]],
  ["a volume that nobody mounts", app({}), []],
  ["a volume of another kind", app(mount("config")), []],
])("%s", (_, spec, expected) => {
  const uses = secretUses(spec).map(
    ({ secret, container, atStart }) => `${secret} ${container}${atStart ? " atStart" : ""}`,
  );
  expect(uses).toEqual(expected);
});
