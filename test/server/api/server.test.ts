/** What a real API server makes of the CRDs, the fixtures and the examples. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { columnsOf, type Kind } from "../../../src/api/kind.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { CATEGORY, GROUP } from "../../../src/api/meta.ts";
import type { ControlPlane } from "../../cluster/control-plane.ts";
import { bad, good, manifest, stalled } from "../../unit/api/fixtures.ts";
import { type DryRun, startDryRun } from "./dry-run.ts";
import { expectStored } from "./stored.ts";

const namespace = "api";
const root = join(import.meta.dirname, "../../..");
const examples = join(root, "deploy/examples");

let cluster: ControlPlane;
let server: DryRun;
let folder: string;
let files = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "iam-operator-api-"));
  server = await startDryRun();
  ({ cluster } = server);
  for (const name of [namespace, "team-a"]) await kubectl("create", "namespace", name);
}, 120_000);

afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly ok: boolean;
  /** What a person at a terminal reads. */
  readonly text: string;
}

/** Runs kubectl as the cluster's administrator, whatever comes of it. */
function tryKubectl(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      cluster.kubectl,
      ["--kubeconfig", cluster.kubeconfig, ...args],
      (error, stdout, stderr) => resolve({ ok: error === null, text: `${stdout}${stderr}` }),
    );
  });
}

async function kubectl(...args: readonly string[]): Promise<string> {
  const { ok, text } = await tryKubectl(...args);
  if (!ok) throw new Error(text);
  return text;
}

function apply(object: unknown, ...args: readonly string[]): Promise<Outcome> {
  files += 1;
  const file = join(folder, `${files}.json`);
  writeFileSync(file, JSON.stringify(object));
  return tryKubectl("apply", "--filename", file, ...args);
}

/** Applies a fixture of that title under a name of its own; returns the arguments that address it. */
async function given(title: string, name: string): Promise<readonly string[]> {
  const fixture = good.find((candidate) => candidate.title === title);
  if (fixture === undefined) throw new Error(`no fixture has the title ${title}`);
  const { ok, text } = await apply(manifest({ ...fixture, name }, namespace));
  if (!ok) throw new Error(text);
  return [fixture.kind.shortName, name, "--namespace", namespace];
}

const patch = (target: readonly string[], spec: unknown) =>
  tryKubectl("patch", ...target, "--type=merge", "--patch", JSON.stringify({ spec }));

describe("the API server", () => {
  test.each(good)("accepts $title, and stores the defaults of the parse", async (fixture) => {
    const object = manifest(fixture, namespace);
    const { status, body } = await server.create(fixture.kind, object, namespace);
    expect(status, body.message).toBe(201);
    expectStored(fixture.kind, object.spec, body.spec);
  });

  test.each(bad)("refuses $title", async (fixture) => {
    const object = manifest(fixture, namespace);
    const { status, body } = await server.create(fixture.kind, object, namespace);
    expect(status).toBe(422);
    for (const says of fixture.says) expect(body.message).toContain(says);
  });

  test.each(stalled)("cannot judge $title", async (fixture) => {
    const object = manifest(fixture, namespace);
    const { status, body } = await server.create(fixture.kind, object, namespace);
    expect(status, body.message).toBe(201);
  });
});

describe("an existing object", () => {
  const immutable = "is immutable; delete this";

  test("an ApiKey refuses another name of its Secret", async () => {
    const apiKey = await given("a key with nothing but defaults", "fixed");
    const { ok, text } = await patch(apiKey, { secret: { name: "other" } });
    expect(ok).toBe(false);
    expect(text).toContain(`${immutable} ApiKey and create a new one`);
  });

  test("an ApiKey can be moved to another ServiceAccount", async () => {
    const apiKey = await given("a key with nothing but defaults", "moved");
    expect(await patch(apiKey, { serviceAccountRef: { name: "second" } })).toMatchObject({
      ok: true,
    });
  });

  test.each([
    ["a key with nothing but defaults", { secret: { type: "example.com/type" } }],
    ["a Secret of type example.com/type", { secret: { type: null } }],
    ["a Secret of type example.com/type", { secret: null }],
  ])("an ApiKey keeps the type of its Secret: %s, %j", async (title, change) => {
    const { ok, text } = await patch(await given(title, `of-${title.length}`), change);
    expect(ok).toBe(false);
    expect(text).toContain("create another ApiKey with another secret.name");
  });

  test("an ApiKey may write down the default type of its Secret", async () => {
    const target = await given("a key with nothing but defaults", "explicit");
    expect(await patch(target, { secret: { type: "Opaque" } })).toMatchObject({ ok: true });
    expect(await patch(target, { secret: { type: null } })).toMatchObject({ ok: true });
  });

  test("an ApiKey keeps the name of its Secret", async () => {
    const target = await given("a key with windows and a secret of its own shape", "named");
    const { text } = await patch(target, { secret: { name: null } });
    expect(text).toContain(immutable);
  });

  test("a PolicyBinding stays with its ServiceAccount", async () => {
    const target = await given("a binding of one policy", "fixed");
    const { text } = await patch(target, { serviceAccountRef: { name: "other" } });
    expect(text).toContain("spec.serviceAccountRef.name: Invalid value");
    expect(text).toContain(`${immutable} PolicyBinding and create a new one`);
  });

  test.each([
    ["name", "other"],
    ["orgId", "org-2"],
    ["projectId", "prj-2"],
    ["saId", "sa-2"],
    ["connectionRef", { name: "other" }],
  ])("a ServiceAccount keeps its %s", async (field, value) => {
    const target = await given("a service account with nothing but defaults", "fixed");
    const { ok, text } = await patch(target, { [field]: value });
    expect(ok).toBe(false);
    expect(text).toContain(`spec.${field}: Invalid value`);
    expect(text).toContain(`${immutable} ServiceAccount and create a new one`);
  });

  test("an imported ServiceAccount cannot forget its saId", async () => {
    const { text } = await patch(await given("an imported service account", "imported"), {
      saId: null,
    });
    expect(text).toContain(immutable);
  });

  test("everything else may change", async () => {
    const target = await given("a key with windows and a secret of its own shape", "changing");
    const change = {
      expiresInDays: 30,
      rotation: { renewBeforePercentage: 10, overlap: "1h", windows: [] },
      secret: { data: { all: "${secret}" }, onExisting: "Fail", deletionPolicy: "Delete" },
      suspend: true,
    };
    expect(await patch(target, change)).toMatchObject({ ok: true });
  });

  test("its status is written apart from its spec", async () => {
    const target = await given("a key with nothing but defaults", "reported");
    const write = async (observedGeneration: number, ...args: readonly string[]) =>
      kubectl(
        "patch",
        ...target,
        ...args,
        "--type=merge",
        "--patch",
        JSON.stringify({ spec: { suspend: true }, status: { observedGeneration } }),
      );
    const read = () =>
      kubectl("get", ...target, "--output=jsonpath={.spec.suspend} {.status.observedGeneration}");
    await write(1, "--subresource=status");
    expect(await read()).toBe("false 1");
    await write(2);
    expect(await read()).toBe("true 1");
  });

  test("its conditions are merged by type when two managers apply", async () => {
    const target = await given("a key with nothing but defaults", "shared");
    const applyCondition = (type: string) =>
      apply(
        {
          apiVersion: `${GROUP}/v1alpha1`,
          kind: "ApiKey",
          metadata: { name: "shared", namespace },
          status: {
            conditions: [
              {
                type,
                status: "True",
                reason: "Done",
                message: "Done.",
                lastTransitionTime: "2026-01-01T00:00:00Z",
              },
            ],
          },
        },
        "--server-side",
        "--subresource=status",
        `--field-manager=${type}`,
      );
    await applyCondition("Ready");
    await applyCondition("Verified");
    expect(await kubectl("get", ...target, "--output=jsonpath={.status.conditions[*].type}")).toBe(
      "Ready Verified",
    );
  });
});

test("two writers each apply a grant of their own", async () => {
  const fixture = good.find(({ kind }) => kind.kind === "ClusterConnection");
  if (fixture === undefined) throw new Error("no fixture");
  const connection = manifest({ ...fixture, name: "shared" }, namespace);
  const { apiVersion, kind, metadata } = connection;
  const grant = (name: string) => ({ name, namespaces: { names: [name] } });
  const applyAs = async (manager: string, spec: unknown) => {
    const object = { apiVersion, kind, metadata, spec };
    expect(await apply(object, "--server-side", `--field-manager=${manager}`)).toMatchObject({
      ok: true,
    });
    return kubectl("get", "iamcconn", "shared", "--output=jsonpath={.spec.grants[*].name}");
  };
  const spec = connection.spec as object;
  expect(await applyAs("platform", { ...spec, grants: [grant("a")] })).toBe("a");
  expect(await applyAs("team-b", { ...spec, grants: [grant("b")] })).toBe("a b");
  expect(await applyAs("platform", spec)).toBe("b");
});

describe("kubectl", () => {
  test.each(kinds)(
    "knows $kind by its short name and, if namespaced, the category",
    async (kind) => {
      const category = kind.scope === "Namespaced" ? [`--categories=${CATEGORY}`] : [];
      const resources = await kubectl("api-resources", ...category, "--no-headers");
      const row = resources.split("\n").find((line) => line.startsWith(`${kind.plural} `));
      expect(row?.split(/ +/)).toEqual([
        kind.plural,
        kind.shortName,
        `${GROUP}/v1alpha1`,
        String(kind.scope === "Namespaced"),
        kind.kind,
      ]);
    },
  );

  test("lists the category for somebody who may read nothing beyond a namespace", async () => {
    const role = ["--verb=get,list", `--resource=*.${GROUP}`];
    await kubectl("create", "role", "reader", "--namespace", namespace, ...role);
    const bound = ["--role=reader", "--user=alice"];
    await kubectl("create", "rolebinding", "reader", "--namespace", namespace, ...bound);
    const asAlice = ["--kubeconfig", cluster.kubeconfigFor("alice")];
    const { ok, text } = await tryKubectl("get", CATEGORY, "--namespace", namespace, ...asAlice);
    expect({ ok, text }).toEqual({ ok: true, text: expect.not.stringContaining("forbidden") });
  });

  test.each(kinds)("prints the columns of $kind", async (kind: Kind) => {
    const fixture = good.find((candidate) => candidate.kind === kind);
    if (fixture === undefined) throw new Error("no fixture");
    await apply(manifest({ ...fixture, name: "printed" }, namespace));
    const head = async (...options: readonly string[]) => {
      const where = ["--namespace", namespace, ...options];
      const [first] = (await kubectl("get", kind.shortName, "printed", ...where)).split("\n");
      return first?.trim().split(/ +/);
    };
    const names = columnsOf(kind).map(({ name }) => name.toUpperCase());
    expect(await head("--output=wide")).toEqual(["NAME", ...names]);
    expect((await head())?.slice(0, 3)).toEqual(["NAME", "READY", "REASON"]);
  });

  test("fills the columns from spec and status", async () => {
    const target = await given("a key with nothing but defaults", "filled");
    const status = {
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "Done",
          message: "Done.",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
      current: {
        keyId: "sak_1",
        issueTime: "2026-01-01T00:00:00Z",
        expirationTime: "2026-04-01T00:00:00Z",
        revision: 1,
      },
      renewalTime: "2026-03-01T00:00:00Z",
      secretName: "filled",
      orphanCount: 2,
    };
    const patched = ["--subresource=status", "--type=merge", "--patch", JSON.stringify({ status })];
    await kubectl("patch", ...target, ...patched);
    const row = await kubectl("get", ...target, "--output=wide", "--no-headers");
    expect(row.trim().split(/ +/).slice(0, -1)).toEqual([
      "filled",
      "True",
      "Done",
      "sak_1",
      "filled",
      "2026-04-01T00:00:00Z",
      "2026-03-01T00:00:00Z",
      "2",
    ]);
  });

  test("selects ApiKeys by their ServiceAccount", async () => {
    await given("a key with nothing but defaults", "selected");
    const select = (name: string) =>
      kubectl(
        "get",
        "iamkey",
        "--namespace",
        namespace,
        "--output=name",
        `--field-selector=spec.serviceAccountRef.name=${name}`,
      );
    expect(await select("ci-bot")).toContain("apikey.iam-operator.io/selected");
    expect(await select("other")).toBe("");
  });

  test.each(kinds)("explains $kind", async (kind) => {
    const text = await kubectl("explain", `${kind.shortName}.spec`);
    expect(text).toContain("Desired state.");
    expect(text).not.toContain("<no description>");
  });
});

describe("the examples", () => {
  test("pass as they are", async () => {
    const own = join(examples, "connection.yaml");
    for (const source of [
      ["--kustomize", examples],
      ["--filename", own],
    ]) {
      const tried = await tryKubectl("apply", "--dry-run=server", ...source);
      expect(tried).toMatchObject({ ok: true });
    }
  });

  test("show every kind", () => {
    const manifests = readdirSync(examples).filter((name) => name !== "kustomization.yaml");
    const shown = manifests.flatMap((name) =>
      parseAllDocuments(readFileSync(join(examples, name), "utf8")).map(
        (document) => (document.toJS() as { kind: string }).kind,
      ),
    );
    expect(new Set(shown)).toEqual(new Set(["Namespace", ...kinds.map(({ kind }) => kind)]));
  });
});

/** Every file of documentation at the root and below docs/. */
function pages(): readonly string[] {
  const below = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  return ["README.md", ...below.map((name) => join("docs", name))].filter((name) =>
    name.endsWith(".md"),
  );
}

/** The whole manifests of our kinds in the yaml blocks of a page; one with the line `# ...` is an excerpt. */
function manifestsOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/^```yaml\n(.*?)^```$/gms)]
    .flatMap(([, block = ""]) => block.split(/^---$/m))
    .filter(
      (block) => /^apiVersion: iam-operator\.io\//m.test(block) && !/^ *# \.\.\.$/m.test(block),
    );
}

describe("a manifest in the documentation is accepted", () => {
  const shown = pages().filter((page) => manifestsOf(page).length > 0);

  test("of every kind's reference among others", () => {
    expect(shown.filter((page) => page.startsWith("docs/reference/"))).toHaveLength(kinds.length);
  });

  test.each(shown)("%s", async (page) => {
    for (const [at, manifest] of manifestsOf(page).entries()) {
      const file = join(folder, `${page.replaceAll("/", "-")}-${at}.yaml`);
      writeFileSync(file, manifest);
      const where = /^ {2}namespace:|namespace: \w/m.test(manifest) ? [] : ["--namespace=team-a"];
      const tried = await tryKubectl("apply", "--dry-run=server", "--filename", file, ...where);
      expect(tried).toMatchObject({ ok: true });
    }
  });
});
