/** Everything the console knows, in memory, with the changes that calls and tests can make to it. */
import { randomBytes as secureBytes, timingSafeEqual } from "node:crypto";
import { DAY, HOUR, type Instant, toIso8601 } from "../../src/util/time.ts";
import type { WorldClock } from "./clock.ts";
import {
  type CompiledStatement,
  compileStatement,
  type Decision,
  decide,
  type ResourceName,
  type Statement,
} from "./policy-evaluation.ts";

export type Activity = "active" | "inactive";

export interface Organization {
  readonly orgId: string;
  readonly name: string;
  readonly projectIds: Set<string>;
}

export interface User {
  readonly username: string;
  password: string;
  domain: string;
  orgId: string;
  policyIds: readonly string[];
  mfaRequired: boolean;
}

export interface AccountRecord {
  readonly saId: string;
  readonly tpn: string;
  readonly orgId: string;
  readonly projectId: string;
  readonly name: string;
  description: string;
  status: Activity;
  readonly createdAt: Instant;
  /** In the order of issuing. */
  readonly keyIds: string[];
}

/** A key without its secret. */
export interface KeyRecord {
  readonly keyId: string;
  readonly saId: string;
  readonly description: string;
  readonly expiresInDays: number;
  status: Activity;
  readonly issueTime: Instant;
  expirationTime: Instant;
  /** Answers 401 before this moment. */
  readonly usableFrom: Instant;
}

export interface Policy {
  readonly policyId: string;
  readonly name: string;
  readonly orgId: string;
  readonly kind: "custom" | "managed" | "scp";
  readonly status: Activity;
  readonly statements: readonly Statement[];
}

export interface Quota {
  readonly clusterId: number;
  readonly status?: string | null;
  readonly name: string;
  readonly namespace: string;
  readonly displayRequest: string;
  readonly displayLimit: string;
  readonly createdAt: string;
}

export interface Cluster {
  readonly clusterId: number;
  readonly orgId: string;
  readonly projectId: string;
  quotas: Quota[];
}

export interface Instance {
  readonly instanceId: string;
  readonly name: string;
  readonly status: string;
  readonly orgId: string;
  readonly projectId: string;
  readonly partitionId: string;
}

export interface CatalogAction {
  readonly actionId: string;
  readonly app: string;
  readonly category: string;
  readonly actionClass: "List" | "Read" | "Write" | "Delete" | "Admin";
  readonly alias: string;
  readonly apiMethod: string | null;
  readonly apiPath: string | null;
  readonly operationId: string | null;
  readonly resourceType: string | null;
  readonly resourceIdParam: string | null;
  readonly resourceIdSource: "path" | "query" | null;
  readonly conditionParams: readonly string[];
  readonly createdAt: string | null;
  readonly createdBy: string;
  readonly updatedAt: string | null;
  readonly updatedBy: string;
  readonly notes: string | null;
  readonly catalogVersion: string;
}

/** One committed change, whether or not its answer arrived. */
export type Change =
  | { readonly kind: "serviceAccountCreated"; readonly at: Instant; readonly saId: string }
  | { readonly kind: "serviceAccountDeleted"; readonly at: Instant; readonly saId: string }
  | { readonly kind: "serviceAccountStatus"; readonly at: Instant; readonly saId: string }
  | {
      readonly kind: "keyIssued" | "keyStatus" | "keyDeleted";
      readonly at: Instant;
      readonly saId: string;
      readonly keyId: string;
    }
  | {
      readonly kind: "bindingsReplaced";
      readonly at: Instant;
      readonly tpn: string;
      readonly before: readonly string[];
      readonly after: readonly string[];
    };

type Timeless<T> = T extends unknown ? Omit<T, "at"> : never;

export interface WorldSettings {
  /** Region part of a TPN. */
  region: string;
  tokenLifetimeMs: number;
  /** Keys never live longer than this, whatever is asked for. */
  maxKeyDays: number;
  /** Whether issuing gives the newest key of the account another secret, instead of making another key. */
  reissuesKeys: boolean;
}

const DEFAULT_SETTINGS: Readonly<WorldSettings> = {
  region: "r1",
  tokenLifetimeMs: HOUR,
  maxKeyDays: Number.POSITIVE_INFINITY,
  reissuesKeys: false,
};

interface Session {
  readonly username: string;
  readonly expirationTime: Instant;
}

export class World {
  readonly clock: WorldClock;
  readonly settings: WorldSettings;
  readonly organizations = new Map<string, Organization>();
  readonly users = new Map<string, User>();
  readonly accounts = new Map<string, AccountRecord>();
  readonly keys = new Map<string, KeyRecord>();
  /** Policy ids by TPN. A target without bindings has no entry. */
  readonly bindings = new Map<string, readonly string[]>();
  readonly clusters = new Map<number, Cluster>();
  instances: Instance[] = [];
  catalogue: CatalogAction[] = [];
  /** Committed changes, oldest first. */
  readonly journal: Change[] = [];

  readonly #randomBytes: (size: number) => Buffer;
  readonly #policies = new Map<string, Policy>();
  readonly #statements = new Map<string, readonly CompiledStatement[]>();
  readonly #accountsByTpn = new Map<string, AccountRecord>();
  readonly #accountsByName = new Map<string, number>();
  readonly #secrets = new Map<string, string>();
  readonly #sessions = new Map<string, Session>();
  /** What a replica does to follow, oldest first. */
  readonly #effects: { readonly at: Instant; readonly follow: (replica: World) => void }[] = [];

  /** `randomBytes`: where ids, tokens and secrets come from. */
  constructor(
    clock: WorldClock,
    settings: Partial<WorldSettings> = {},
    randomBytes: (size: number) => Buffer = secureBytes,
  ) {
    this.clock = clock;
    this.#randomBytes = randomBytes;
    this.settings = { ...DEFAULT_SETTINGS, ...settings };
  }

  /** What a replica that has followed only until then answers lists from. Users and policies' contents are today's. */
  asOf(instant: Instant): World {
    const replica = new World(this.clock, this.settings, this.#randomBytes);
    for (const [name, user] of this.users) replica.users.set(name, user);
    for (const [id, organization] of this.organizations)
      replica.organizations.set(id, organization);
    for (const [token, session] of this.#sessions) replica.#sessions.set(token, session);
    for (const [id, statements] of this.#statements) replica.#statements.set(id, statements);
    // The clock may have been set back: what came before the last call of that time has happened too.
    const last = this.#effects.findLastIndex(({ at }) => at <= instant);
    for (const { follow } of this.#effects.slice(0, last + 1)) follow(replica);
    return replica;
  }

  // Users and their tokens

  addUser(user: Pick<User, "username" | "password" | "domain" | "orgId"> & Partial<User>): User {
    const added = { policyIds: [], mfaRequired: false, ...user };
    this.users.set(user.username, added);
    return added;
  }

  openSession(username: string): string {
    const token = `ut_${this.#randomBytes(24).toString("base64url")}`;
    const expirationTime = this.clock.now() + this.settings.tokenLifetimeMs;
    this.#sessions.set(token, { username, expirationTime });
    return token;
  }

  /** The user behind a token which is known and unexpired. */
  userOfToken(token: string): User | undefined {
    const session = this.#sessions.get(token);
    if (session === undefined) return undefined;
    if (this.clock.now() < session.expirationTime) return this.users.get(session.username);
    this.#sessions.delete(token);
    return undefined;
  }

  /** Ends the sessions of one user, or of everybody; answers how many there were. */
  revokeTokens(username?: string): number {
    const ended = [...this.#sessions].filter(
      ([, session]) => username === undefined || session.username === username,
    );
    for (const [token] of ended) this.#sessions.delete(token);
    return ended.length;
  }

  // Service accounts

  createAccount(wanted: {
    readonly orgId: string;
    readonly projectId: string;
    readonly name: string;
    readonly description: string;
  }): AccountRecord {
    const saId = `sa-${this.#randomBytes(8).toString("hex")}`;
    const account: AccountRecord = {
      saId,
      tpn: `tpn:${this.settings.region}:${wanted.orgId}:${wanted.projectId}:sa/${saId}`,
      orgId: wanted.orgId,
      projectId: wanted.projectId,
      name: wanted.name,
      description: wanted.description,
      status: "active",
      createdAt: this.clock.now(),
      keyIds: [],
    };
    this.accounts.set(saId, account);
    this.#accountsByTpn.set(account.tpn, account);
    this.#countName(account, 1);
    this.#record({ kind: "serviceAccountCreated", saId }, (replica) => {
      const copy = { ...account, status: "active" as const, keyIds: [] };
      replica.accounts.set(saId, copy);
      replica.#accountsByTpn.set(account.tpn, copy);
    });
    return account;
  }

  accountOfTpn(tpn: string): AccountRecord | undefined {
    return this.#accountsByTpn.get(tpn);
  }

  hasAccountNamed(orgId: string, projectId: string, name: string): boolean {
    return (this.#accountsByName.get(nameKey({ orgId, projectId, name })) ?? 0) > 0;
  }

  setAccountStatus(saId: string, status: Activity): void {
    this.#account(saId).status = status;
    this.#record({ kind: "serviceAccountStatus", saId }, (replica) => {
      replica.#account(saId).status = status;
    });
  }

  /** Removes the account with its keys and bindings. */
  deleteAccount(saId: string): void {
    const account = this.#account(saId);
    for (const keyId of account.keyIds.slice()) this.deleteKey(keyId);
    this.replaceBindings(account.tpn, []);
    this.accounts.delete(saId);
    this.#accountsByTpn.delete(account.tpn);
    this.#countName(account, -1);
    this.#record({ kind: "serviceAccountDeleted", saId }, (replica) => {
      replica.accounts.delete(saId);
      replica.#accountsByTpn.delete(account.tpn);
    });
  }

  // Keys

  /** The only moment at which the secret leaves the world through a call. */
  issueKey(
    saId: string,
    wanted: { readonly description: string; readonly expiresInDays: number },
    propagationMs = 0,
  ): { readonly key: KeyRecord; readonly secret: string } {
    const account = this.#account(saId);
    const issueTime = this.clock.now();
    const expiresInDays = Math.min(wanted.expiresInDays, this.settings.maxKeyDays);
    const expirationTime = issueTime + expiresInDays * DAY;
    const known = this.keys.get(account.keyIds.at(-1) ?? "");
    if (this.settings.reissuesKeys && known !== undefined) {
      known.expirationTime = expirationTime;
      return { key: known, secret: this.#newSecret(known.keyId) };
    }
    const key: KeyRecord = {
      keyId: `sak_${this.#randomBytes(12).toString("hex")}`,
      saId,
      description: wanted.description,
      expiresInDays,
      status: "active",
      issueTime,
      expirationTime,
      usableFrom: issueTime + propagationMs,
    };
    this.keys.set(key.keyId, key);
    account.keyIds.push(key.keyId);
    this.#record({ kind: "keyIssued", saId, keyId: key.keyId }, (replica) => {
      replica.keys.set(key.keyId, { ...key, status: "active", expirationTime });
      replica.#account(saId).keyIds.push(key.keyId);
    });
    return { key, secret: this.#newSecret(key.keyId) };
  }

  #newSecret(keyId: string): string {
    const secret = this.#randomBytes(32).toString("base64url");
    this.#secrets.set(keyId, secret);
    return secret;
  }

  keysOf(saId: string): readonly KeyRecord[] {
    const keyIds = this.accounts.get(saId)?.keyIds ?? [];
    return keyIds.flatMap((keyId) => this.keys.get(keyId) ?? []);
  }

  /** Whether the two texts were issued together; says nothing about the key being usable. */
  isPair(keyId: string, secret: string): boolean {
    const known = this.#secrets.get(keyId);
    if (known === undefined || known.length !== secret.length) return false;
    const [a, b] = [Buffer.from(known), Buffer.from(secret)];
    return a.length === b.length && timingSafeEqual(a, b);
  }

  /** Why a key is not accepted at this moment; `undefined` when it is. */
  whyKeyIsRefused(keyId: string): string | undefined {
    const key = this.keys.get(keyId);
    const now = this.clock.now();
    if (key === undefined) return "API key does not exist";
    if (key.status !== "active") return "API key is inactive";
    if (now >= key.expirationTime) return "API key has expired";
    // A clock that is set back makes no known key unknown.
    const isNew = now >= key.issueTime && now < key.usableFrom;
    if (isNew) return "API key is not known yet";
    if (this.accounts.get(key.saId)?.status !== "active") return "service account is inactive";
    return undefined;
  }

  setKeyStatus(keyId: string, status: Activity): void {
    const key = this.#key(keyId);
    key.status = status;
    this.#record({ kind: "keyStatus", saId: key.saId, keyId }, (replica) => {
      replica.#key(keyId).status = status;
    });
  }

  /** From now on it has expired. */
  expireKey(keyId: string): void {
    const key = this.#key(keyId);
    const expirationTime = this.clock.now();
    key.expirationTime = expirationTime;
    this.#record({ kind: "keyStatus", saId: key.saId, keyId }, (replica) => {
      replica.#key(keyId).expirationTime = expirationTime;
    });
  }

  deleteKey(keyId: string): void {
    const { saId } = this.#key(keyId);
    this.#dropKey(keyId);
    this.#record({ kind: "keyDeleted", saId, keyId }, (replica) => replica.#dropKey(keyId));
  }

  /** Every secret ever issued, deleted keys included: for tests that search output for leaks. */
  issuedSecrets(): readonly string[] {
    return [...this.#secrets.values()];
  }

  // Policies and bindings

  get policies(): ReadonlyMap<string, Policy> {
    return this.#policies;
  }

  putPolicy(policy: Policy): void {
    this.#do((world) => world.#policies.set(policy.policyId, policy));
    this.#statements.set(
      policy.policyId,
      policy.status === "active" ? policy.statements.map(compileStatement) : [],
    );
  }

  boundTo(tpn: string): readonly string[] {
    return this.bindings.get(tpn) ?? [];
  }

  replaceBindings(tpn: string, policyIds: readonly string[]): void {
    const before = this.boundTo(tpn);
    const after = [...new Set(policyIds)];
    const bind = (world: World) => {
      if (after.length === 0) world.bindings.delete(tpn);
      else world.bindings.set(tpn, after);
    };
    bind(this);
    this.#record({ kind: "bindingsReplaced", tpn, before, after }, bind);
  }

  decide(policyIds: readonly string[], action: string, resource: ResourceName): Decision {
    const statements = policyIds.flatMap((policyId) => this.#statements.get(policyId) ?? []);
    return decide(statements, action, resource);
  }

  // Looking at it

  /** A picture that can be printed: no passwords, tokens or key secrets. */
  snapshot(): unknown {
    const time = (instant: Instant) => toIso8601(instant);
    return {
      now: time(this.clock.now()),
      clockOffsetMs: this.clock.offsetMs,
      settings: this.settings,
      users: [...this.users.values()].map(({ password: _, ...user }) => user),
      serviceAccounts: [...this.accounts.values()].map(({ keyIds, ...account }) => ({
        ...account,
        createdAt: time(account.createdAt),
        policyIds: this.boundTo(account.tpn),
        keys: this.keysOf(account.saId).map((key) => ({
          ...key,
          issueTime: time(key.issueTime),
          expirationTime: time(key.expirationTime),
          usableFrom: time(key.usableFrom),
          refused: this.whyKeyIsRefused(key.keyId) ?? null,
        })),
      })),
      policies: [...this.#policies.values()].map(({ statements, ...policy }) => policy),
      clusters: [...this.clusters.values()].map(({ quotas, ...cluster }) => ({
        ...cluster,
        quotas: quotas.length,
      })),
      instances: this.instances.length,
      actions: this.catalogue.length,
    };
  }

  #account(saId: string): AccountRecord {
    const account = this.accounts.get(saId);
    if (account === undefined) throw new Error(`no service account ${saId}`);
    return account;
  }

  #key(keyId: string): KeyRecord {
    const key = this.keys.get(keyId);
    if (key === undefined) throw new Error(`no key ${keyId}`);
    return key;
  }

  #countName(account: AccountRecord, change: number): void {
    const key = nameKey(account);
    this.#accountsByName.set(key, (this.#accountsByName.get(key) ?? 0) + change);
  }

  #dropKey(keyId: string): void {
    const { keyIds } = this.#account(this.#key(keyId).saId);
    keyIds.splice(keyIds.indexOf(keyId), 1);
    this.keys.delete(keyId);
  }

  /** What was there before the first change is on every replica. */
  #do(call: (world: World) => void): void {
    call(this);
    const at = this.journal.length === 0 ? Number.NEGATIVE_INFINITY : this.clock.now();
    this.#effects.push({ at, follow: call });
  }

  #record(change: Timeless<Change>, follow: (replica: World) => void): void {
    const at = this.clock.now();
    this.journal.push({ ...change, at } as Change);
    this.#effects.push({ at, follow });
  }
}

function nameKey(of: Pick<AccountRecord, "orgId" | "projectId" | "name">): string {
  return JSON.stringify([of.orgId, of.projectId, of.name]);
}
