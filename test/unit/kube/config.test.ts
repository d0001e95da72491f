import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { getCACertificates } from "node:tls";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadKubeEndpoint } from "../../../src/kube/config/config.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

let directory: string;
let clock: FakeClock;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "iam-operator-config-"));
  clock = createFakeClock();
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

function kubeconfig(cluster: object, user: object): string {
  const path = join(directory, "config");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u", namespace: "team" } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function mountAccount(token: string, authority = "authority"): void {
  const folder = join(directory, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "token"), token);
  writeFileSync(join(folder, "ca.crt"), authority);
  writeFileSync(join(folder, "namespace"), "iam-operator\n");
}

describe("a kubeconfig", () => {
  test("gives server, namespace, authority and token", async () => {
    const path = kubeconfig(
      { server: "https://server:6443/", "certificate-authority-data": btoa("authority") },
      { token: "t" },
    );
    const endpoint = await loadKubeEndpoint({ kubeconfig: path, clock });
    expect(endpoint).toMatchObject({
      server: "https://server:6443",
      namespace: "team",
      proxyUrl: undefined,
    });
    expect(await endpoint.credentials()).toEqual({
      tls: { ca: ["authority", ...getCACertificates("extra")], insecure: false },
      headers: { authorization: "Bearer t" },
    });
  });

  test("gives client certificate, server name and what is not verified", async () => {
    const path = kubeconfig(
      { server: "https://s", "insecure-skip-tls-verify": true, "tls-server-name": "name" },
      { "client-certificate-data": btoa("cert"), "client-key-data": btoa("key") },
    );
    const endpoint = await loadKubeEndpoint({ kubeconfig: path, clock });
    expect(await endpoint.credentials()).toEqual({
      tls: { cert: "cert", key: "key", serverName: "name", insecure: true },
      headers: {},
    });
  });

  test("asks a plugin again only when its token was refused", async () => {
    const script = join(directory, "plugin.sh");
    const count = join(directory, "count");
    writeFileSync(
      script,
      `echo x >> ${count}; n=$(wc -l < ${count}); echo "{\\"status\\":{\\"token\\":\\"t$((n))\\"}}"`,
    );
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: [script] };
    const path = kubeconfig({ server: "https://s" }, { exec });
    const endpoint = await loadKubeEndpoint({ kubeconfig: path, clock });
    const first = await endpoint.credentials();
    await clock.advance(HOUR);
    expect((await endpoint.credentials()).headers).toEqual({ authorization: "Bearer t1" });
    const current = await endpoint.credentials();
    expect(current.headers).toEqual(first.headers);
    expect((await endpoint.credentials(current)).headers).toEqual({ authorization: "Bearer t2" });
  });

  test.each([
    ["a missing file", () => join(directory, "absent"), "ENOENT"],
    ["no cluster", () => kubeconfig({ server: "https://s" }, {}), "no cluster"],
    [
      "a proxy that is not HTTP",
      () => kubeconfig({ server: "https://s", "proxy-url": "socks5://p" }, {}),
      "proxy-url",
    ],
  ])("with %s is refused", async (name, path, message) => {
    const context = name === "no cluster" ? "other" : undefined;
    await expect(loadKubeEndpoint({ kubeconfig: path(), context, clock })).rejects.toThrow(message);
  });
});

describe("the files of KUBECONFIG", () => {
  const write = (name: string, { server = "", namespace = name, current = "c" }) => {
    const path = join(directory, name);
    const config = {
      apiVersion: "v1",
      kind: "Config",
      ...(current === "" ? {} : { "current-context": current }),
      contexts: [{ name: "c", context: { cluster: "k", user: "u", namespace } }],
      clusters: server === "" ? [] : [{ name: "k", cluster: { server } }],
      users: [{ name: "u", user: { token: name } }],
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  };
  const load = (...files: readonly string[]) =>
    loadKubeEndpoint({ kubeconfigList: files.join(delimiter), clock });
  const absent = () => join(directory, "absent");

  test.each([
    ["before", (good: string) => [absent(), good]],
    ["after", (good: string) => [good, absent()]],
    ["around", (good: string) => ["", absent(), good, absent()]],
  ])("that do not exist are skipped %s one that does", async (_, files) => {
    const endpoint = await load(...files(write("good", { server: "https://good" })));
    expect(endpoint).toMatchObject({ server: "https://good", namespace: "good" });
  });

  test("are merged: of entries with one name, the first counts, and so does the first current context", async () => {
    const first = write("first", { current: "" });
    const second = write("second", { server: "https://second" });
    const third = write("third", { server: "https://third", current: "other" });
    const endpoint = await load(first, second, third);
    expect(endpoint).toMatchObject({ server: "https://second", namespace: "first" });
    expect((await endpoint.credentials()).headers).toEqual({ authorization: "Bearer first" });
  });

  test("of which none exists are named", async () => {
    await expect(load(absent())).rejects.toThrow(`no file of KUBECONFIG exists: ${absent()}`);
  });
});

test("a kubeconfig that is no YAML is refused without being quoted", async () => {
  const path = join(directory, "config");
  writeFileSync(path, 'users:\n- token: "canary\n  : [');
  const loading = loadKubeEndpoint({ kubeconfig: path, clock });
  await expect(loading).rejects.toThrow(/^the kubeconfig cannot be read \(YAMLException\)$/);
});

describe("the Pod's own account", () => {
  beforeEach(() => {
    mountAccount("first\n");
    vi.stubEnv("KUBECONFIG", "/nowhere");
  });
  const load = () =>
    loadKubeEndpoint({
      rootDirectory: directory,
      podServer: { host: "fd00::1", port: "443" },
      clock,
    });

  test("comes before any default kubeconfig", async () => {
    const endpoint = await load();
    expect(endpoint).toMatchObject({ server: "https://[fd00::1]:443", namespace: "iam-operator" });
    expect(await endpoint.credentials()).toEqual({
      tls: { ca: ["authority", ...getCACertificates("extra")], insecure: false },
      headers: { authorization: "Bearer first" },
    });
  });

  test("is read again after a minute", async () => {
    const endpoint = await load();
    const first = await endpoint.credentials();
    mountAccount("second");
    await clock.advance(59 * SECOND);
    expect(await endpoint.credentials()).toBe(first);
    await clock.advance(SECOND);
    const second = await endpoint.credentials();
    expect(second.headers).toEqual({ authorization: "Bearer second" });
    expect(second.tls).toBe(first.tls);
  });

  test("has another authority when its file changes", async () => {
    const endpoint = await load();
    const first = await endpoint.credentials();
    mountAccount("first", "another");
    await clock.advance(MINUTE);
    const { tls } = await endpoint.credentials();
    expect([first.tls.ca?.[0], tls.ca?.[0]]).toEqual(["authority", "another"]);
  });

  test("is read again at once when it was refused, by one of those who were", async () => {
    const endpoint = await load();
    const first = await endpoint.credentials();
    mountAccount("second");
    const [one, two] = await Promise.all([
      endpoint.credentials(first),
      endpoint.credentials(first),
    ]);
    expect(one.headers).toEqual({ authorization: "Bearer second" });
    expect(two).toBe(one);
    expect(await endpoint.credentials(first)).toBe(one);
  });

  test("outlasts a file that is missing for a moment", async () => {
    const endpoint = await load();
    const first = await endpoint.credentials();
    rmSync(join(directory, "var"), { recursive: true });
    await clock.advance(61 * SECOND);
    expect(await endpoint.credentials()).toBe(first);
    await expect(endpoint.credentials(first)).rejects.toThrow("ENOENT");
    mountAccount("second");
    expect((await endpoint.credentials(first)).headers).toEqual({ authorization: "Bearer second" });
  });
});
