/** The largest objects that the API server accepts, from the CRDs' own schemas and from metadata. */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { API_VERSION, GROUP, VERSION } from "../../../../src/api/meta.ts";
import { loadKubeEndpoint } from "../../../../src/kube/config/config.ts";
import { createKubeTransport } from "../../../../src/kube/transport/transport.ts";
import { systemClock } from "../../../../src/util/time.ts";
import { inParallel } from "../../../real-world/in-parallel.ts";
import { ROOT } from "../../../real-world/program.ts";
import type { OwnServers } from "../../../real-world/servers.ts";
import { until } from "../../../real-world/until.ts";
import {
  type Field,
  fieldsOf,
  MOST_BYTES,
  type Schema,
  SEED,
  valuesOf,
  withValue,
} from "./values.ts";

interface AttackedKind {
  readonly kind: string;
  readonly plural: string;
  readonly schema: Schema;
}

/** The kinds that a tenant can create. */
export const attackedKinds: readonly AttackedKind[] = readdirSync(join(ROOT, "crds"))
  .map((file) => parse(readFileSync(join(ROOT, "crds", file), "utf8")).spec)
  .filter(({ scope }) => scope === "Namespaced")
  .map(({ names: { kind, plural }, versions: [{ schema }] }) => ({
    kind,
    plural,
    schema: schema.openAPIV3Schema,
  }));

/** The API server's own rules for metadata, which no CRD shows. */
const qualified = ruled(317, "^[a-z0-9][-a-z0-9.]{0,251}[a-z0-9]/[a-z0-9]{1,63}$");
const free: Schema = { type: "string", maxLength: 253 };
const metadata: Schema = {
  type: "object",
  properties: {
    /** 256 KiB is the most, in bytes. */
    annotations: mapOf(1, { type: "string", maxLength: 60_000 }),
    labels: mapOf(50, ruled(63, "^[a-z0-9]+$")),
    /** The API server's effort grows with the square of their number. */
    finalizers: { type: "array", maxItems: 250, items: qualified },
    ownerReferences: {
      type: "array",
      maxItems: 10,
      items: {
        type: "object",
        properties: { apiVersion: { enum: ["v1"] }, kind: free, name: free, uid: free },
      },
    },
  },
};

function ruled(maxLength: number, pattern: string): Schema {
  const rule = `self.matches(r'${pattern}')`;
  return { type: "string", maxLength, "x-kubernetes-validations": [{ rule }] };
}

function mapOf(maxProperties: number, additionalProperties: Schema): Schema {
  const rule = "self.all(key, size(key) <= 317)";
  return {
    type: "object",
    maxProperties,
    additionalProperties,
    "x-kubernetes-validations": [{ rule }],
  };
}

const connectionRef = { kind: "Connection", name: "console" };
/** What an object of a kind needs to be valid. */
const minimal: Readonly<Record<string, object>> = {
  Connection: {
    baseURL: "http://127.0.0.1:1",
    insecureHTTP: true,
    orgId: "org-1",
    domainName: "acme",
    credentials: { token: { secretRef: { name: "none" } } },
  },
  ServiceAccount: { connectionRef },
  PolicyBinding: { serviceAccountRef: { name: "none" }, policyIds: ["pol-read"] },
  ApiKey: { serviceAccountRef: { name: "none" } },
  ResourceQuotaExport: { connectionRef, clusterId: 7 },
};

/** Left out where every field is filled, since it excludes another field. */
const exclusive: Readonly<Record<string, object>> = { Connection: { credentials: {} } };

/** An object with a seed in every text, of which any number of distinct copies can be made. */
interface Mold {
  readonly kind: AttackedKind;
  readonly fields: readonly string[];
  /** As the API server would store it. */
  readonly stored: string;
  /** Without what says who owns which field. */
  readonly bytes: number;
}

export interface Attacker {
  /** One object or several that have, together, every field filled; `refused` are those that no value was accepted for. */
  fullest(
    kind: AttackedKind,
    parts: readonly Part[],
  ): Promise<{ readonly molds: Mold[]; readonly refused: readonly string[] }>;
  /** An object with those fields filled; without any if the API server does not accept them. */
  only(kind: AttackedKind, fields: readonly Field[]): Promise<Mold>;
  /** Creates copies until they have that many bytes; answers how many there are. */
  create(mold: Mold, mebibytes: number, most?: number): Promise<number>;
  /** Fields for which the API server refuses an ApiKey with that spec. */
  refusedOf(spec: object): Promise<readonly string[]>;
  /** Deletes the copies, whatever their finalizers. */
  clear(kind: AttackedKind): Promise<void>;
  close(): Promise<void>;
}

type Part = "metadata" | "spec" | "status";

interface Answer {
  readonly status: number;
  /** The object as the API server would store it, unless it is refused. */
  readonly text: string;
  /** Fields that the API server refuses. */
  readonly causes: readonly string[];
}

type Filled = { readonly metadata: { readonly name: string }; readonly status?: object };

export async function openAttacker(servers: OwnServers, namespace: string): Promise<Attacker> {
  const endpoint = await loadKubeEndpoint({
    kubeconfig: servers.cluster.kubeconfig,
    clock: systemClock,
  });
  const transport = createKubeTransport({ endpoint, clock: systemClock });
  let serial = 0;

  async function call(method: "GET" | "POST" | "PATCH", path: string, body = ""): Promise<Answer> {
    const { status, body: answer } = await transport.send({
      method,
      url: `${endpoint.server}/apis/${GROUP}/${VERSION}/namespaces/${namespace}/${path}`,
      headers: {
        "content-type": `application/${method === "PATCH" ? "merge-patch+" : ""}json`,
        accept: "application/json",
      },
      body,
      timeoutMs: 60_000,
      maxBytes: 2 ** 24,
    });
    const causes = status === 422 ? JSON.parse(answer.toString()).details?.causes : undefined;
    const fields = causes?.map(({ field = "" }) => field) ?? [];
    return { status, text: answer.toString(), causes: fields };
  }

  /** The API server would take ten times as long to find out who owns which of a thousand fields. */
  async function etcd(action: "put" | "deleterange", request: Readonly<Record<string, string>>) {
    const coded = Object.entries(request).map(([name, text]) => [
      name,
      Buffer.from(text).toString("base64"),
    ]);
    const { ok } = await fetch(`${servers.cluster.etcdUrl}/v3/kv/${action}`, {
      method: "POST",
      body: JSON.stringify(Object.fromEntries(coded)),
    });
    if (!ok) throw new Error(`etcd refuses the ${action} of ${request.key}`);
  }

  const keyOf = ({ plural }: AttackedKind, name: string) =>
    `/registry/${GROUP}/${plural}/${namespace}/${name}`;

  /** A tenant could not write faster than the API server takes up what is written. */
  function takenUp({ plural }: AttackedKind): Promise<void> {
    return until(`the API server to list ${plural} at once`, async () => {
      const startedAt = performance.now();
      await call("GET", `${plural}?fieldSelector=metadata.name%3D${SEED}`);
      return performance.now() - startedAt < 500;
    });
  }

  async function write({ plural }: AttackedKind, object: Filled, dryRun = ""): Promise<Answer> {
    const { status, ...rest } = object;
    const query = `?fieldManager=attacker${status === undefined ? dryRun : ""}`;
    const made = await call("POST", plural + query, JSON.stringify(rest));
    if (status === undefined || (made.status > 299 && made.status !== 409)) return made;
    const path = `${plural}/${object.metadata.name}/status?fieldManager=attacker${dryRun}`;
    return call("PATCH", path, JSON.stringify({ status }));
  }

  /** Fills as many of the fields as the API server accepts together, with shorter lists if they are too large. */
  async function cast(kind: AttackedKind, fields: readonly Field[], base: object): Promise<Mold> {
    for (let share = 1; share > 0.001; share /= 2) {
      const filling = new Filling(kind, fields, base, share);
      const mold = await castWith(kind, filling);
      if (mold !== undefined) return mold;
    }
    throw new Error(`the API server accepts no ${kind.kind} with ${fields[0]?.path}`);
  }

  /** Answers `undefined` if the object is too large. */
  async function castWith(kind: AttackedKind, filling: Filling): Promise<Mold | undefined> {
    const object = filling.object();
    const answer = await tryOut(kind, object);
    if (answer === undefined) return undefined;
    const { status, text: stored, causes } = answer;
    const isAccepted = status < 300;
    if (!isAccepted && filling.avoid(causes)) return castWith(kind, filling);
    const bytes = Buffer.byteLength(JSON.stringify(object));
    return { kind, fields: isAccepted ? filling.paths() : [], stored, bytes };
  }

  /** Answers `undefined` if the object is too large. */
  async function tryOut(kind: AttackedKind, object: Filled): Promise<Answer | undefined> {
    if (Buffer.byteLength(JSON.stringify(object)) > MOST_BYTES) return undefined;
    const answer = await write(kind, object, "&dryRun=All");
    const { status, text, causes } = answer;
    const fits = status < 300 ? Buffer.byteLength(text) <= MOST_BYTES : causes.length > 0;
    return fits ? answer : undefined;
  }

  return {
    async fullest(kind, parts) {
      const molds: Mold[] = [];
      const whole = objectOf(kind, namespace);
      const without = { ...whole, spec: { ...whole.spec, ...exclusive[kind.kind] } };
      let left = partsOf(kind, parts);
      while (left.length > 0) {
        const first = parts.includes("spec") ? await cast(kind, left, without) : undefined;
        const mold = first?.fields.length ? first : await cast(kind, left, whole);
        if (mold.fields.length === 0) break;
        molds.push(mold);
        left = left.filter(({ path }) => !mold.fields.includes(path));
      }
      return { molds, refused: left.map(({ path }) => path) };
    },
    only: (kind, fields) => cast(kind, fields, objectOf(kind, namespace)),
    async create({ kind, stored, bytes }, mebibytes, most = 1_500) {
      const count = Math.min(most, Math.ceil((mebibytes * 2 ** 20) / bytes));
      await inParallel([...Array(count).keys()], 4, async () => {
        serial += 1;
        const name = `q${`${serial}`.padStart(SEED.length - 1, "0")}`;
        const object = JSON.parse(stored.replaceAll(SEED, name));
        const { resourceVersion: _, ...rest } = object.metadata;
        const copy = { ...object, metadata: { ...rest, name, uid: randomUUID() } };
        await etcd("put", { key: keyOf(kind, name), value: JSON.stringify(copy) });
      });
      await takenUp(kind);
      return count;
    },
    async refusedOf(spec) {
      const object = objectOf(kindOf("ApiKey"), namespace);
      const wanted = { ...object, spec: { ...object.spec, ...spec } };
      return (await write(kindOf("ApiKey"), wanted, "&dryRun=All")).causes;
    },
    clear: (kind) => etcd("deleterange", { key: keyOf(kind, "q"), range_end: keyOf(kind, "r") }),
    close: () => transport.close(),
  };
}

export function kindOf(name: string): AttackedKind {
  const found = attackedKinds.find(({ kind }) => kind === name);
  if (found === undefined) throw new Error(`tenants cannot create a ${name}`);
  return found;
}

export function partsOf({ schema }: AttackedKind, parts: readonly Part[]): readonly Field[] {
  return parts.flatMap((part) =>
    fieldsOf(part === "metadata" ? metadata : (schema.properties?.[part] ?? {}), part),
  );
}

function objectOf({ kind }: AttackedKind, namespace: string) {
  const spec = minimal[kind];
  if (spec === undefined) throw new Error(`add to "minimal" what a ${kind} needs to be valid`);
  return { apiVersion: API_VERSION, kind, metadata: { namespace, name: SEED }, spec };
}

/** Values for fields, of which the API server refuses some. */
class Filling {
  readonly #schema: Schema;
  readonly #base: object;
  readonly #values: ReadonlyMap<Field, Iterator<unknown>>;
  readonly #taken = new Map<Field, unknown>();

  constructor({ schema }: AttackedKind, fields: readonly Field[], base: object, share: number) {
    this.#schema = { ...schema, properties: { ...schema.properties, metadata } };
    this.#base = base;
    this.#values = new Map(fields.map((field) => [field, valuesOf(field.schema, share)]));
    for (const field of fields) this.#advance(field);
  }

  object(): Filled {
    const filled = [...this.#taken].reduce(
      (all, [{ path }, value]) => withValue(all, path, value, this.#schema),
      this.#base,
    );
    return filled as Filled;
  }

  paths(): readonly string[] {
    return [...this.#taken.keys()].map(({ path }) => path);
  }

  /** Takes the next values for what was refused. Answers whether there is anything to change. */
  avoid(causes: readonly string[]): boolean {
    const fields = [...this.#taken.keys()];
    const culprits = causes.flatMap((cause) => culpritOf(fields, cause) ?? []);
    for (const culprit of new Set(culprits)) this.#advance(culprit);
    return culprits.length > 0;
  }

  #advance(field: Field): void {
    const { done, value } = this.#values.get(field)?.next() ?? {};
    if (done) this.#taken.delete(field);
    else this.#taken.set(field, value);
  }
}

/** The refused field itself, or the last one below what is refused, such as one of two that exclude each other. */
function culpritOf(fields: readonly Field[], cause: string): Field | undefined {
  const at = cause.replaceAll(/\[.*?\]/g, "");
  return (
    fields.find(({ path }) => at === path || at.startsWith(`${path}.`)) ??
    fields.findLast(({ path }) => path.startsWith(`${at}.`))
  );
}
