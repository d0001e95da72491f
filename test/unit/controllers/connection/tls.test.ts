/** Connections to a console with a certificate of a private authority that asks its clients for one. */
import { describe, expect, onTestFinished, test } from "vitest";
import {
  clusterConnectionType,
  configMapType,
  secretType,
} from "../../../../src/controllers/resource-types.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import { type Certificate, opensslPki, type Pki } from "../../../support/openssl-certificate.ts";
import { startTlsFront } from "../../../support/tls-front.ts";
import { createWorld, ready } from "../service-account/world.ts";

const [first, second] = [opensslPki("first"), opensslPki("second")];

async function consoleBehind(pki: Pki) {
  const world = await createWorld();
  onTestFinished(() => world.stop());
  const front = await startTlsFront(world.console, pki);
  onTestFinished(() => front[Symbol.asyncDispose]());
  await world.putLogin();
  const { kube, namespace } = world;
  const encode = (text: string) => Buffer.from(text).toString("base64");
  const write = { fieldManager: "test" };
  const metadata = (name: string) => ({ name, namespace });
  return {
    world,
    front,
    connect: async () => {
      const object = await world.connect();
      const message = object?.status?.conditions?.find(({ type }) => type === "Ready")?.message;
      return `${ready(object)}: ${message}`;
    },
    putConnection: (changes: object = {}) =>
      world.putConnection({
        baseURL: front.url,
        caBundleFrom: { configMapRef: { name: "console-ca" } },
        trustOnlyCABundle: true,
        clientCertificate: { secretRef: { name: "operator-tls" } },
        ...changes,
      }),
    putBundle: ({ cert }: Certificate) =>
      kube.apply(
        configMapType,
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: metadata("console-ca"),
          data: { "ca.crt": cert },
        } as never,
        write,
      ),
    putCertificate: ({ key, cert }: Certificate) =>
      kube.apply(
        secretType,
        {
          apiVersion: "v1",
          kind: "Secret",
          type: "kubernetes.io/tls",
          metadata: metadata("operator-tls"),
          data: { "tls.crt": encode(cert), "tls.key": encode(key), "ca.crt": encode(cert) },
        } as never,
        write,
      ),
  };
}

/** The same with a connection, and everything that it refers to. */
async function declared(pki: Pki) {
  const place = await consoleBehind(pki);
  await place.putBundle(pki.authority);
  await place.putCertificate(pki.client);
  await place.putConnection();
  return place;
}

describe.runIf(first !== undefined && second !== undefined)("a console with mutual TLS", () => {
  const [old, renewed] = [first, second] as [Pki, Pki];

  test("is reached as soon as the authority and the certificate are there", async () => {
    const { front, connect, putConnection, putBundle, putCertificate } = await consoleBehind(old);
    await putConnection();
    expect(await connect()).toBe(
      "Ready=False ConfigMapNotFound: The CA bundle's ConfigMap team/console-ca does not exist; create it with the key ca.crt.",
    );
    await putBundle(old.authority);
    expect(await connect()).toBe(
      "Ready=False SecretNotFound: The client certificate's Secret team/operator-tls does not exist; create it with the keys tls.crt, tls.key.",
    );
    expect(front.presented).toEqual([]);
    await putCertificate(old.client);
    expect(await connect()).toContain("Ready=True Authenticated");
    expect(front.presented).toEqual(["first"]);
  });

  test("lets nobody in without a certificate", async () => {
    const { world, connect, putConnection, putBundle } = await consoleBehind(old);
    await putBundle(old.authority);
    await putConnection({ clientCertificate: undefined });
    expect(await connect()).toContain("Ready=False ConsoleUnavailable");
    expect(world.console.requests.all).toEqual([]);
  });

  test("is not trusted by a bundle of somebody else", async () => {
    const { world, connect, putConnection, putBundle, putCertificate } = await consoleBehind(old);
    await putBundle(renewed.authority);
    await putCertificate(old.client);
    await putConnection();
    expect(await connect()).toContain("Ready=False ConsoleUnavailable");
    expect(world.console.requests.all).toEqual([]);
    await putBundle(old.authority);
    expect(await connect()).toContain("Ready=True Authenticated");
  });

  test("is followed through a renewal of everybody's certificates", async () => {
    const { world, front, connect, putBundle, putCertificate } = await declared(old);
    await connect();
    await world.putAccount("one");
    expect(ready((await world.reconcile("one")).object)).toBe("Ready=True Created");

    front.renew(renewed);
    await world.putAccount("two");
    expect(ready((await world.reconcile("two")).object)).toContain("Ready=False");
    await putBundle(renewed.authority);
    await putCertificate(renewed.client);
    expect(await connect()).toContain("Ready=True Authenticated");
    expect(ready((await world.reconcile("two")).object)).toBe("Ready=True Created");
    expect(new Set(front.presented)).toEqual(new Set(["first", "second"]));
    expect(front.presented.at(-1)).toBe("second");
  });

  test("sees the certificate of a Secret that was created anew", async () => {
    const { world, front, connect, putCertificate } = await declared(old);
    await connect();
    await world.kube.delete(secretType, { namespace: "team", name: "operator-tls" }, {});
    expect(await connect()).toContain("Ready=False SecretNotFound");
    await world.putAccount("one");
    expect(ready((await world.reconcile("one")).object)).toBe("Ready=False ConnectionNotReady");
    await putCertificate(old.client);
    const seen = front.presented.length;
    expect(await connect()).toContain("Ready=True Authenticated");
    expect(front.presented.slice(seen)).toEqual(["first"]);
  });

  test("says what may not be read", async () => {
    const { world } = await declared(old);
    const get = world.kube.get.bind(world.kube);
    world.kube.get = async (type, key, options) => {
      if (type.plural !== "configmaps") return get(type, key, options);
      throw new KubeError("Forbidden", `get configmaps ${key.namespace}/${key.name}: cannot get`);
    };
    await expect(world.connect()).rejects.toThrow("cannot get");
    const object = await get(clusterConnectionType, { namespace: "", name: world.namespace });
    expect(object?.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "Ready",
        reason: "Forbidden",
        message:
          "The Kubernetes API answered Forbidden: get configmaps team/console-ca: cannot get.",
      }),
    );
  });
});
