import type { ConnectionSpec, Rights } from "../api/connection.ts";
import type { OperatorEvent } from "../api/events.ts";
import type { ConnectionRef } from "../api/fields.ts";
import type { IamClient } from "../console/client/client.ts";
import type { ExtraOperation } from "../console/endpoints.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { EventTarget } from "../kube/events/event-recorder.ts";
import type { KubeObject, ObjectKey, ResourceType } from "../kube/resource.ts";
import type { Store, StoreChange } from "../kube/store/store.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import type { TenantMemory } from "../util/tenant-memory.ts";
import type { Clock } from "../util/time.ts";
import type { ConditionEvent } from "./rules/condition-events.ts";
import type { Waiting } from "./rules/outcome.ts";

export interface Caches {
  /** The cache of a type; throws if the type is not cached. */
  of<T extends KubeObject>(type: ResourceType<T>): Store<T>;
  /** The caches that have an index with this name. */
  indexedBy(index: string): readonly { readonly type: ResourceType; readonly store: Store }[];
  readonly secrets: SecretCache;
}

/**
 * Metadata of the Secrets with the operator's labels, if the operator has permission to list and watch Secrets. A
 * Secret missing here may exist anyway, without the labels.
 */
export interface SecretCache {
  /** Whether it is known if Secrets are watched and, if so, whether all of them are listed. */
  readonly synced: boolean;
  /** Whether the cache is reliable now. */
  readonly isWatched: boolean;
  get(key: ObjectKey): KubeObject | undefined;
  /** Whether the cache has seen the operator's own last write of this Secret. */
  isCurrent(key: ObjectKey): boolean;
  /** Calls back with changes that are not the operator's own writes. */
  subscribe(listener: (change: StoreChange<KubeObject>) => void): () => void;
}

/** How a connection's console is reached: `ConsoleSession` in the data of a run, `WithClient` in the registry. */
export interface ConsoleSession {
  /** Names the session within its run, see `RunSessions`. */
  readonly session: number;
  /** The calls that the connection configures. */
  readonly extraCalls: ReadonlySet<ExtraOperation>;
}
export interface WithClient {
  readonly client: IamClient;
}

/** A connection that a namespace may use now. */
export type ConnectionAccess<Console = ConsoleSession> = Console & {
  readonly spec: ConnectionSpec;
  /** The permissions of the namespace: the union of its matching grants; on a Connection, all permissions. */
  readonly grant: Rights;
};

export type ConnectionLookup<Console = ConsoleSession> =
  | { readonly ok: true; readonly access: ConnectionAccess<Console> }
  /** `waiting` says what an object that needs the connection waits for. A change of that enqueues the object. */
  | {
      readonly ok: false;
      readonly waiting: Waiting;
      /** The permissions of the namespace, if they are known even though the connection cannot be used. */
      readonly grant?: Rights;
      /** Present if the namespace may use the connection once it is usable again. */
      readonly spec?: ConnectionSpec;
      /** Present if no grant matches the namespace: used only to remove what the namespace has. */
      readonly ungranted?: UngrantedAccess<Console>;
    };

/** A connection that a namespace must not use any more; the operator uses it to remove what the namespace has. */
type UngrantedAccess<Console = ConsoleSession> = Console & {
  readonly spec: ConnectionSpec;
  /** How long the operator waits before it removes anything; if absent, it never does. */
  readonly gracePeriodMs: number | undefined;
};

/** The session and the connection's spec, for a deletion or a withdrawal. */
export function accessToRevoke(
  lookup: ConnectionLookup,
): (ConsoleSession & Pick<ConnectionAccess, "spec">) | undefined {
  return lookup.ok ? lookup.access : lookup.ungranted;
}

export interface Connections<Console = ConsoleSession> {
  /** Checks existence, spec, grant and authentication state; makes no console call. */
  resolve(ref: ConnectionRef, namespace: string): Promise<ConnectionLookup<Console>>;
}

/** An EventRecorder for the events that the reference lists. */
export interface ObjectEvents {
  record(target: EventTarget, event: OperatorEvent | ConditionEvent): void;
}

/** Everything that a reconcile gets in addition to its object. */
export interface Context {
  readonly kube: KubeClient;
  readonly caches: Caches;
  readonly connections: Connections<WithClient>;
  readonly events: ObjectEvents;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  /** `--cluster-name`; absent if the operator has none. */
  readonly clusterName?: string | undefined;
  /** Whether the operator only plans, for all objects. */
  readonly readOnly?: boolean;
  /** Where the process keeps state about objects; absent: each kind has a budget of its own. */
  readonly memory?: TenantMemory;
}
