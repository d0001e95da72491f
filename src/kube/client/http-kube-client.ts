/** The Kubernetes client over HTTP. */

import { isKubeError, KubeError } from "../errors.ts";
import {
  asRead,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type ResourceType,
} from "../resource.ts";
import { type ApiCall, callApi, type KubeApi } from "./api-call.ts";
import { apiVersionOf, collectionPath, objectPath } from "./api-path.ts";
import type {
  ApplyOptions,
  CallOptions,
  KubeClient,
  ListOptions,
  PatchOptions,
  Preconditions,
  WriteOptions,
} from "./client.ts";
import { complete, isNamed, listPages, pagesOf } from "./list-pages.ts";
import { withoutSecretValues } from "./secret-values.ts";

interface Timeouts {
  readonly readMs: number;
  /** Must be shorter than the lease's renew deadline; otherwise no write could start (S8). */
  readonly writeMs: number;
}

export interface KubeClientOptions extends KubeApi {
  /** Field manager of every field that the operator writes. */
  readonly fieldManager: string;
  /**
   * The fence: called before every mutating request that is not a dry run, and again right before the request is sent,
   * with its time limit. Throws KubeError NotLeading to forbid the request.
   */
  readonly beforeMutation?: (timeoutMs: number) => void;
  readonly timeouts?: Partial<Timeouts>;
}

const DEFAULT_TIMEOUTS: Timeouts = { readMs: 15_000, writeMs: 5_000 };

/** A client that sends every request once, with a deadline, and rejects with KubeError only. */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  return new HttpKubeClient(options);
}

class HttpKubeClient implements KubeClient {
  readonly #options: KubeClientOptions;
  readonly #timeouts: Timeouts;

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  }

  async get<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    { signal }: CallOptions = {},
  ): Promise<T | undefined> {
    const attempted = describe("get", type, key);
    const path = objectPath(type, key);
    const timeoutMs = this.#timeouts.readMs;
    const call = { attempted, method: "GET", path, timeoutMs, signal } as const;
    const answer = await callApi(this.#options, call).catch(absentAsUndefined);
    return answer === undefined ? undefined : asObject(type, attempted, answer);
  }

  async list<T extends KubeObject>(
    type: ResourceType<T>,
    { signal, ...selection }: ListOptions = {},
  ): Promise<readonly T[]> {
    const call = { timeoutMs: this.#timeouts.readMs, signal };
    return (await listPages(this.#options, type, selection, call)).objects;
  }

  async collect<T extends KubeObject, R>(
    type: ResourceType<T>,
    digest: (object: T) => R | undefined,
    { signal, ...selection }: ListOptions = {},
  ): Promise<readonly R[]> {
    const call = { timeoutMs: this.#timeouts.readMs, signal };
    const kept: R[] = [];
    for await (const { items } of pagesOf(this.#options, type, selection, call))
      for (const item of items) {
        const part = digest(complete(type, item));
        if (part !== undefined) kept.push(part);
      }
    return kept;
  }

  async create<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<T> {
    const key = keyOf(object);
    // Refuses an invalid key, as all other methods do.
    objectPath(type, key);
    return this.#write<T>(type, options, {
      attempted: describe("create", type, key),
      method: "POST",
      path: collectionPath(type, key.namespace),
      body: typed(type, object),
    });
  }

  /** Caveat: if the object does not exist, a resourceVersion without a uid has no effect and the server creates it. */
  async apply<T extends KubeObject>(
    type: ResourceType<T>,
    object: KubeObject & object,
    { subresource, fieldManager, ...options }: ApplyOptions = {},
  ): Promise<T> {
    const key = keyOf(object);
    const call = {
      attempted: describe("apply", type, key, subresource),
      method: "PATCH",
      path: objectPath(type, key, subresource),
      query: { force: true, ...(fieldManager === undefined ? {} : { fieldManager }) },
      // JSON is valid YAML, and every server accepts this content type.
      contentType: "application/apply-patch+yaml",
    } as const;
    const meant =
      subresource === undefined
        ? object
        : await this.#pinned(type, object, call.attempted, options);
    return this.#write<T>(type, options, { ...call, body: typed(type, meant) });
  }

  /**
   * On a subresource of a custom resource, the server ignores the uid and would write to a later object with the same
   * name, but it checks the resourceVersion. Therefore a uid without a resourceVersion costs a read that adds the
   * resourceVersion.
   */
  async #pinned(
    type: ResourceType,
    object: KubeObject & object,
    attempted: string,
    options: WriteOptions,
  ): Promise<KubeObject & object> {
    const { uid, resourceVersion } = object.metadata;
    if (uid === undefined || resourceVersion !== undefined) return object;
    const current = await this.get(type, keyOf(object), options);
    if (current === undefined)
      throw new KubeError("NotFound", `${attempted}: the object does not exist`);
    const { metadata } = current;
    if (metadata.uid !== uid)
      throw new KubeError("Conflict", `${attempted}: it is another object now`);
    return { ...object, metadata: { ...object.metadata, ...versionOf(metadata) } };
  }

  async mergePatch<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: object,
    { subresource, ...options }: PatchOptions = {},
  ): Promise<T> {
    return this.#write<T>(type, options, {
      attempted: describe("patch", type, key, subresource),
      method: "PATCH",
      path: objectPath(type, key, subresource),
      contentType: "application/merge-patch+json",
      body: patch,
    });
  }

  async replace<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<T> {
    const key = keyOf(object);
    return this.#write<T>(type, options, {
      attempted: describe("replace", type, key),
      method: "PUT",
      path: objectPath(type, key),
      body: typed(type, object),
    });
  }

  async delete(
    type: ResourceType,
    key: ObjectKey,
    preconditions: Preconditions,
    options: WriteOptions = {},
  ): Promise<void> {
    const attempted = describe("delete", type, key);
    try {
      await this.#mutate(type, options, {
        attempted,
        method: "DELETE",
        path: objectPath(type, key),
        body: deleteOptions(preconditions, options),
      });
    } catch (error) {
      absentAsUndefined(error);
      await this.#confirmAbsence(type, key, attempted, preconditions, options);
    }
  }

  /** After a false NotFound, an object that still exists would never be deleted: its owner no longer looks. */
  async #confirmAbsence(
    type: ResourceType,
    key: ObjectKey,
    attempted: string,
    { uid }: Preconditions,
    options: WriteOptions,
  ): Promise<void> {
    const current = await this.get(type, key, options);
    if (current === undefined || (uid !== undefined && current.metadata.uid !== uid)) return;
    const message = `${attempted}: the server answered NotFound, but the object exists`;
    throw new KubeError("Unavailable", message);
  }

  async #write<T extends KubeObject>(
    type: ResourceType<T>,
    options: WriteOptions,
    call: WriteCall,
  ): Promise<T> {
    const { fieldManager } = this.#options;
    // Without this, the server parses the body a second time to warn about unknown fields.
    const fieldValidation = options.strict ? "Strict" : "Ignore";
    const dryRun = options.dryRun ? { dryRun: "All" } : {};
    const query = { fieldManager, fieldValidation, ...dryRun, ...call.query };
    return asObject(type, call.attempted, await this.#mutate(type, options, { ...call, query }));
  }

  async #mutate(type: ResourceType, { dryRun, signal }: WriteOptions, call: WriteCall) {
    const timeoutMs = this.#timeouts.writeMs;
    const beforeSending = dryRun ? undefined : () => this.#options.beforeMutation?.(timeoutMs);
    beforeSending?.();
    return secretly(type, call.body, () =>
      callApi(this.#options, { ...call, timeoutMs, signal, beforeSending }),
    );
  }
}

type WriteCall = Omit<ApiCall, "timeoutMs" | "signal">;

/** The server reads options from the query only if there is no body, so the body must contain the dry run. */
function deleteOptions(preconditions: Preconditions, { dryRun }: WriteOptions): object {
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions,
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
}

function typed(type: ResourceType, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

function versionOf({ resourceVersion }: KubeObject["metadata"]) {
  return resourceVersion === undefined ? {} : { resourceVersion };
}

function describe(verb: string, type: ResourceType, key: ObjectKey, subresource?: string): string {
  const what = subresource === undefined ? type.plural : `${type.plural}/${subresource}`;
  return `${verb} ${what} ${keyText(key)}`;
}

async function secretly<T>(
  type: ResourceType,
  body: object | undefined,
  call: () => Promise<T>,
): Promise<T> {
  if (type.group !== "" || type.kind !== "Secret") return call();
  try {
    return await call();
  } catch (error) {
    throw isKubeError(error) ? redacted(error, body) : error;
  }
}

function redacted(error: KubeError, body: object | undefined): KubeError {
  const { status, reason, retryAt, cause } = error;
  return new KubeError(error.code, withoutSecretValues(error.message, body), {
    ...(status === undefined ? {} : { status }),
    ...(reason === undefined ? {} : { reason }),
    ...(retryAt === undefined ? {} : { retryAt }),
    cause,
  });
}

/**
 * Only a NotFound Status of the API server proves absence. A 404 from a proxy, or for a kind that is not installed, has
 * no such Status; treating it as absence could issue a key again.
 */
function absentAsUndefined(error: unknown): undefined {
  if (!isKubeError(error, "NotFound") || error.reason !== "NotFound") throw error;
}

function asObject<T extends KubeObject>(
  type: ResourceType<T>,
  attempted: string,
  answer: unknown,
): T {
  if (isNamed(answer)) return asRead(type, answer as T);
  throw new KubeError("MalformedResponse", `${attempted}: the answer is not an object`);
}
