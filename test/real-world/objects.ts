/** Objects of one namespace, as a user or an administrator reads and changes them. */
import { findCondition } from "../../src/api/conditions.ts";
import type { Kinds } from "../../src/api/kinds.ts";
import { API_VERSION, annotations as known } from "../../src/api/meta.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { KubeObject, ResourceType } from "../../src/kube/resource.ts";
import { namespaceType, type Secret, secretType } from "../../src/kube/resource-types.ts";
import { types } from "./kinds.ts";
import { until } from "./until.ts";

type Kind = keyof Kinds;
type Texts = Readonly<Record<string, string>>;

/** A manager needs less, even on a busy machine. */
const PATIENCE_MS = 60_000;

export class Objects {
  readonly namespace: string;
  /** With all permissions. */
  readonly kube: KubeClient;
  /** What managers and commands in this process have said. */
  readonly logs: string[] = [];

  constructor(kube: KubeClient, namespace: string) {
    this.kube = kube;
    this.namespace = namespace;
  }

  type<K extends Kind>(kind: K): ResourceType<Kinds[K]> {
    return types[kind];
  }

  /** Creates or changes an object. */
  apply<K extends Kind>(
    kind: K,
    name: string,
    spec: object,
    metadata: object = {},
  ): Promise<Kinds[K]> {
    const { namespace } = this.#key(kind, name);
    const where = namespace === "" ? { name } : { namespace, name };
    const object = { apiVersion: API_VERSION, kind, metadata: { ...where, ...metadata }, spec };
    return this.kube.apply(this.type(kind), object as KubeObject);
  }

  serviceAccount(name: string, spec: object = {}): Promise<Kinds["ServiceAccount"]> {
    const connectionRef = { kind: "Connection", name: "console" };
    return this.apply("ServiceAccount", name, { connectionRef, ...spec });
  }

  apiKey(name: string, spec: object = {}, metadata: object = {}): Promise<Kinds["ApiKey"]> {
    return this.apply("ApiKey", name, { serviceAccountRef: { name: "ci" }, ...spec }, metadata);
  }

  find<K extends Kind>(kind: K, name: string): Promise<Kinds[K] | undefined> {
    return this.kube.get(this.type(kind), this.#key(kind, name));
  }

  async get<K extends Kind>(kind: K, name: string): Promise<Kinds[K]> {
    const object = await this.find(kind, name);
    if (object === undefined) throw new Error(`${kind} ${name} does not exist`);
    return object;
  }

  patch(kind: Kind, name: string, patch: object): Promise<unknown> {
    return this.kube.mergePatch(this.type(kind), this.#key(kind, name), patch);
  }

  annotate(kind: Kind, name: string, annotations: Readonly<Record<string, string | null>>) {
    return this.patch(kind, name, { metadata: { annotations } });
  }

  /** Asks for another key; each token does so once. */
  rotate(name: string, token: string): Promise<unknown> {
    return this.annotate("ApiKey", name, { [known.rotateRequestedAt]: token });
  }

  async delete(kind: Kind, name: string): Promise<void> {
    await this.kube.delete(this.type(kind), this.#key(kind, name), {});
  }

  labelNamespace(labels: Readonly<Record<string, string | null>>): Promise<unknown> {
    const key = { namespace: "", name: this.namespace };
    return this.kube.mergePatch(namespaceType, key, { metadata: { labels } });
  }

  secret(name: string): Promise<Secret | undefined> {
    return this.kube.get(secretType, { namespace: this.namespace, name });
  }

  /** The entries of a Secret as texts. */
  async entries(name: string): Promise<Texts> {
    const { data = {} } = (await this.secret(name)) ?? {};
    const entries = Object.entries(data).map(([key, value]) => [key, textOf(value)] as const);
    return Object.fromEntries(entries);
  }

  async writeSecret(name: string, stringData: Texts, metadata: object = {}): Promise<void> {
    await this.kube.apply(secretType, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: this.namespace, ...metadata },
      stringData,
    } as KubeObject);
  }

  /** Waits until the object's condition has this status, and this reason if one is given. */
  async condition<K extends Kind>(
    kind: K,
    name: string,
    type: string,
    status: "True" | "False",
    reason?: string,
  ): Promise<Kinds[K]> {
    let last: Kinds[K] | undefined;
    const wanted = `${kind} ${name} to be ${type}=${status} ${reason ?? ""}`;
    await this.until(
      () => `${wanted}; it is ${JSON.stringify(last?.status?.conditions)}`,
      async () => {
        last = await this.find(kind, name);
        const found = findCondition(last?.status?.conditions, type);
        const isObserved = last?.status?.observedGeneration === last?.metadata.generation;
        const hasReason = reason === undefined || found?.reason === reason;
        return found?.status === status && isObserved && hasReason;
      },
    );
    return last as Kinds[K];
  }

  ready<K extends Kind>(kind: K, name: string): Promise<Kinds[K]> {
    return this.condition(kind, name, "Ready", "True");
  }

  /** The message of a condition. */
  async message(kind: Kind, name: string, type = "Ready"): Promise<string> {
    const { status } = await this.get(kind, name);
    return findCondition(status?.conditions, type)?.message ?? "";
  }

  /** Requests a reconciliation by annotation and waits for it; each token does so once. */
  async reconcile(kind: Kind, name: string, token: string): Promise<void> {
    await this.annotate(kind, name, { [known.reconcileRequestedAt]: token });
    const isHandled = async () =>
      (await this.find(kind, name))?.status?.lastHandledReconcileAt === token;
    await this.until(`${kind} ${name} to be reconciled`, isHandled);
  }

  async isGone(kind: Kind, name: string): Promise<void> {
    const isGone = async () => (await this.find(kind, name)) === undefined;
    await this.until(`${kind} ${name} to be gone`, isGone);
  }

  /** Events about the object with this name. */
  async events(name: string): Promise<readonly { reason: string; note: string; type: string }[]> {
    const events = await this.kube.list(eventType, { namespace: this.namespace });
    return events
      .filter(({ regarding }) => regarding?.name === name)
      .map(({ reason = "", note = "", type = "" }) => ({ reason, note, type }));
  }

  /** All objects of the operator's kinds, and all events. */
  async listAll(): Promise<Readonly<Record<string, string>>> {
    const { namespace } = this;
    const list = (type: unknown) => this.kube.list(type as ResourceType, { namespace });
    const [objects, events] = await Promise.all([
      Promise.all(Object.values(types).map(list)),
      list(eventType),
    ]);
    return { objects: JSON.stringify(objects), events: JSON.stringify(events) };
  }

  until(
    what: string | (() => string),
    holds: () => boolean | Promise<boolean>,
    timeoutMs = PATIENCE_MS,
  ): Promise<void> {
    const told = () => (typeof what === "string" ? what : what());
    return until(() => `${told()}\n${this.logs.slice(-15).join("")}`, holds, timeoutMs, 25);
  }

  /** Removes finalizers, which no operator does any more: a namespace that cannot be deleted keeps the servers busy. */
  async deleteNamespace(): Promise<void> {
    const { namespace, kube } = this;
    for (const type of Object.values(types).filter((each) => each.namespaced) as ResourceType[]) {
      const objects = await kube.list(type, { namespace });
      const held = objects.filter(({ metadata }) => metadata.finalizers?.length);
      const release = ({ metadata: { name } }: KubeObject) =>
        kube.mergePatch(type, { namespace, name }, { metadata: { finalizers: null } });
      await Promise.all(held.map(release));
    }
    await kube.delete(namespaceType, { namespace: "", name: namespace }, {});
  }

  #key(kind: Kind, name: string) {
    return { namespace: types[kind].namespaced ? this.namespace : "", name };
  }
}

export function textOf(value = ""): string {
  return Buffer.from(value, "base64").toString();
}

interface EventObject extends KubeObject {
  readonly regarding?: { readonly name?: string };
  readonly reason?: string;
  readonly note?: string;
  readonly type?: string;
}

const eventType: ResourceType<EventObject> = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};
