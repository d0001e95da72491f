/**
 * A model of the API server, as seen over HTTP: the one of all tests that need no real one. The fidelity test of the
 * simulation holds it to the real one.
 *
 * Assumption: nothing in here waits. A call is decided in one step, in the order in which calls are handed in.
 */
import { namespaceType } from "../../src/kube/resource-types.ts";
import type { Instant } from "../../src/util/time.ts";
import type { SeededRandom } from "../../test/support/seeded-random.ts";
import { ApiFailure } from "./failure.ts";
import { coreKinds, readCustomKinds, type ServedKind } from "./kinds.ts";
import { get, Listings, shown } from "./reads.ts";
import { type ApiRequest, parseRequest, type RawRequest } from "./request.ts";
import { Storage } from "./storage.ts";
import type { Tree } from "./tree.ts";
import { openWatch, type Watch } from "./watch.ts";
import {
  apply,
  create,
  patch,
  remove,
  replace,
  type WriteContext,
  type Written,
} from "./writes.ts";

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Tree;
}

export interface ApiServerOptions {
  readonly now: () => Instant;
  readonly newUid: () => string;
  readonly kinds?: readonly ServedKind[];
}

export type Admission = (request: ApiRequest, object: Tree, old: Tree | undefined) => void;

export class ApiServer {
  readonly storage = new Storage();
  /** On whose behalf calls are handled at this moment. */
  actor: "user" | "operator" = "user";
  readonly kinds: readonly ServedKind[];
  /** Each may throw an ApiFailure to refuse a write. */
  readonly admission: Admission[] = [];
  readonly #listings = new Listings();
  readonly #context: WriteContext;

  readonly #now: () => Instant;

  constructor({ now, newUid, kinds }: ApiServerOptions) {
    this.#now = now;
    this.kinds = [...coreKinds, ...(kinds ?? readCustomKinds())];
    this.#context = {
      storage: this.storage,
      now,
      newUid,
      namespaceKind: this.kindOf("", namespaceType.plural),
      admit: (...change) => {
        for (const admit of this.admission) admit(...change);
      },
    };
  }

  /** The header that every response has. */
  get date(): Readonly<Record<string, string>> {
    return { date: new Date(this.#now()).toUTCString() };
  }

  kindOf(group: string, plural: string): ServedKind {
    const found = this.kinds.find(({ type }) => type.group === group && type.plural === plural);
    if (found === undefined) throw new Error(`the model does not serve ${plural}.${group}`);
    return found;
  }

  parse(raw: RawRequest): ApiRequest {
    return parseRequest(this.kinds, raw);
  }

  handle(raw: RawRequest): ApiResponse {
    return answered(() => this.carryOut(this.parse(raw)));
  }

  /** As `handle`, of what has been parsed already. */
  answer(request: ApiRequest): ApiResponse {
    return answered(() => this.carryOut(request));
  }

  /** Throws ApiFailure where the server refuses. */
  watch(raw: RawRequest, behind = 0): Watch {
    return openWatch(this.storage, this.parse(raw), behind);
  }

  /** Throws ApiFailure where the server refuses. */
  carryOut(request: ApiRequest): Written {
    const { verb } = request;
    if (verb === "get") return { status: 200, object: get(this.storage, request) };
    if (verb === "list") return { status: 200, object: this.#listings.list(this.storage, request) };
    if (verb === "watch") throw new Error("a watch is no single answer");
    const written = WRITES[verb](this.#context, request);
    return { ...written, object: shown(request, written.object) };
  }
}

/** The answer as it travels, to what may throw ApiFailure. */
export function answered(carryOut: () => Written): ApiResponse {
  try {
    const { status, object } = carryOut();
    return { status, headers: {}, body: object };
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    return { status: error.status, headers: error.headers, body: error.body };
  }
}

const WRITES = { create, replace, apply, patch, delete: remove };

/** As the server makes them. */
export function randomUid(random: SeededRandom): string {
  let hex = "";
  while (hex.length < 32) hex += random.below(16).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
