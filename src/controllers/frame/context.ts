import type { ConnectionSpec, Rights } from "../../api/connection.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import type { IamClient } from "../../iam/client/client.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { KubeObject, ObjectKey, ResourceType } from "../../kube/resource.ts";
import type { Store, StoreChange } from "../../kube/store/store.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { Log } from "../../util/log.ts";
import type { Random } from "../../util/random.ts";
import type { Clock } from "../../util/time.ts";
import type { Waiting } from "./rules/outcome.ts";

export interface Caches {
  /** The objects of a type that is cached; throws for another type. */
  of<T extends KubeObject>(type: ResourceType<T>): Store<T>;
  /** The caches that have an index of that name. */
  indexedBy(index: string): readonly { readonly type: ResourceType; readonly store: Store }[];
  readonly secrets: SecretCache;
}

/**
 * Metadata of the Secrets that carry the operator's labels, where the operator may list and watch Secrets. What it does
 * not have may exist all the same: a Secret of somebody else.
 */
export interface SecretCache {
  /** Whether it is known if Secrets are watched, and all that are watched are listed. */
  readonly synced: boolean;
  /** Whether what it says can be relied on now. */
  readonly isWatched: boolean;
  get(key: ObjectKey): KubeObject | undefined;
  /** Whether it has seen our own last write of that Secret. */
  isCurrent(key: ObjectKey): boolean;
  /** Calls back with changes that are not our own writes. */
  subscribe(listener: (change: StoreChange<KubeObject>) => void): () => void;
}

/** A connection that a namespace may use right now. */
export interface ConnectionAccess {
  readonly client: IamClient;
  readonly spec: ConnectionSpec;
  /** What the namespace may do: the union of the grants that match it; all rights on a Connection. */
  readonly grant: Rights;
}

export type ConnectionLookup =
  | { readonly ok: true; readonly access: ConnectionAccess }
  /** What an object that needs the connection waits for. A change enqueues it. */
  | {
      readonly ok: false;
      readonly waiting: Waiting;
      /** What the namespace may do, as far as it is known although the connection cannot be used. */
      readonly grant?: Rights;
      /** Present if no grant matches the namespace: only to take away what it has. */
      readonly ungranted?: UngrantedAccess;
    };

/** A connection that a namespace may not use, for what is to be taken away from it. */
export interface UngrantedAccess extends Pick<ConnectionAccess, "client" | "spec"> {
  /** How long to wait before that; never if absent. */
  readonly gracePeriodMs: number | undefined;
}

/** The client and the connection's spec, for what a deletion or a withdrawal takes away. */
export function accessToRevoke(
  lookup: ConnectionLookup,
): Pick<ConnectionAccess, "client" | "spec"> | undefined {
  return lookup.ok ? lookup.access : lookup.ungranted;
}

/** Finds the console client of a connection; the only way to one. */
export interface Connections {
  /** Checks existence, spec, grant and authentication state; makes no console call. */
  resolve(ref: ConnectionRef, namespace: string): Promise<ConnectionLookup>;
}

/** Everything a reconcile is given besides its object. */
export interface Context {
  readonly kube: KubeClient;
  readonly caches: Caches;
  readonly connections: Connections;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the operator only plans, for every object. */
  readonly readOnly?: boolean;
  /** Whether this run only plans: nothing that it does is carried out. */
  readonly isPlan?: boolean;
}
