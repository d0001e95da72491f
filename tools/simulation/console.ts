/** The reference console without its wire: what it decides about a call, in one step. */

import type { HttpRequest } from "../../src/http/http.ts";
import type { Instant } from "../../src/util/time.ts";
import type { SeededRandom } from "../../test/support/seeded-random.ts";
import type { Tree } from "../api-server/tree.ts";
import { WorldClock } from "../iam-server/clock.ts";
import type { Site } from "../iam-server/decide.ts";
import { type DelayedCall, delayedCallOf } from "../iam-server/delayed-call.ts";
import type { ExtraCalls } from "../iam-server/operations.ts";
import type { Reply } from "../iam-server/reply.ts";
import { Router } from "../iam-server/router.ts";
import { seed } from "../iam-server/seed.ts";
import { DEFAULT_SHAPES, type Shapes } from "../iam-server/shapes.ts";
import { type Change, World, type WorldSettings } from "../iam-server/world.ts";

export interface ConsoleOptions {
  readonly now: () => Instant;
  readonly random: SeededRandom;
  readonly shapes?: Partial<Shapes>;
  readonly settings?: Partial<WorldSettings>;
  /** How long a new key answers 401. */
  readonly keyPropagationMs?: number;
  /** Calls beyond the documented ones. */
  readonly extraCalls?: ExtraCalls;
  /** How many accounts the operator asks for at a time; absent: for all. */
  readonly accountsPerPage?: number;
}

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export class Console {
  readonly world: World;
  /** Calls that the API description does not show. */
  readonly unknownCalls: string[] = [];
  /** What calls have changed; everything else was somebody at the console. */
  readonly ownChanges = new Set<Change>();
  readonly #site: Site;
  readonly #router: Router;
  /** What the connection says about this console. */
  readonly ownSpec: Tree;
  /** How far behind the replica is that answers the lists. */
  listsBehindMs = 0;
  #requests = 0;

  constructor({
    now,
    random,
    shapes,
    settings,
    keyPropagationMs = 0,
    extraCalls,
    accountsPerPage: pageSize,
  }: ConsoleOptions) {
    const parameters = { pageParameter: "page", pageSizeParameter: "pageSize" };
    this.ownSpec = pageSize === undefined ? {} : { accountListPages: { ...parameters, pageSize } };
    this.#router = new Router(extraCalls);
    const randomBytes = (size: number) =>
      Buffer.from(Array.from({ length: size }, () => random.below(256)));
    this.world = new World(new WorldClock({ now }), settings, randomBytes);
    seed(this.world);
    this.#site = { world: this.world, shapes: { ...DEFAULT_SHAPES, ...shapes }, keyPropagationMs };
  }

  /** Whether its answers about an account list the account's keys, and more than an empty list. */
  get listsKeys(): boolean {
    const { keyRecords } = this.#site.shapes;
    return keyRecords !== "omitted" && keyRecords !== "empty";
  }

  /** Whether the list of an account's keys tells keys that have ended from others. */
  get showsEndedKeys(): boolean {
    const { keyRecords, deadKeys } = this.#site.shapes;
    return this.listsKeys && (keyRecords === "full" || deadKeys === "hidden");
  }

  /** The ID of the policy that a submitted ID names; seeded IDs are in lower case. */
  policyIdOf(submitted: string): string {
    return this.#site.shapes.policyIdCase === "upper" ? submitted.toLowerCase() : submitted;
  }

  /** The operation's name, or the path of a call that is not shown. */
  operationOf({ method, url }: HttpRequest): string {
    const { pathname } = new URL(url);
    return this.#router.find(method, pathname)?.operation ?? `${method} ${pathname}`;
  }

  handle(request: HttpRequest, behindMs?: number): ConsoleAnswer {
    return this.#answer(() => this.#delayedCall(request).commit(behindMs));
  }

  /** Lets a call in by the credentials that are valid now, to be done when the result is called. */
  accept(request: HttpRequest): () => ConsoleAnswer {
    const commit = this.#delayedCall(request).accept();
    return () => this.#answer(commit);
  }

  #delayedCall({ method, url, headers, body }: HttpRequest): DelayedCall {
    const { pathname, searchParams } = new URL(url);
    const route = this.#router.find(method, pathname);
    if (route === undefined) this.unknownCalls.push(`${method} ${pathname}`);
    return delayedCallOf(
      { ...this.#site, listsBehindMs: this.listsBehindMs },
      { route, query: searchParams, headers: { ...headers }, ...parseBody(body) },
    );
  }

  #answer(commit: () => Reply): ConsoleAnswer {
    const { journal } = this.world;
    const changes = journal.length;
    const reply = commit();
    for (const change of journal.slice(changes)) this.ownChanges.add(change);
    this.#requests += 1;
    const date = new Date(this.world.clock.now()).toUTCString();
    return { ...reply, headers: { ...reply.headers, date }, body: this.#numbered(reply.body) };
  }

  /** Request ids are random in the reference console; runs must repeat themselves. */
  #numbered(body: string): string {
    return body.replace(/"requestId":"[^"]*"/, `"requestId":"request-${this.#requests}"`);
  }
}

function parseBody(body: HttpRequest["body"]): { body: unknown; bodyProblem?: string } {
  if (body === undefined) return { body: undefined };
  try {
    return { body: JSON.parse(Buffer.from(body).toString("utf8")) };
  } catch {
    return { body: undefined, bodyProblem: "is not JSON" };
  }
}
