/** The data of a run, and what the parts of a kind are given. */
import type { IamClient } from "../console/client/client.ts";
import type { IamReader } from "../console/client/reader.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { KubeReader } from "../kube/client/reader.ts";
import type { KubeObject, ObjectKey, ResourceType } from "../kube/resource.ts";
import type { Run } from "../runtime/result.ts";
import type { Connections, Context } from "./context.ts";
import type { StatusWriteContext } from "./publish.ts";
import type { Outcome } from "./rules/outcome.ts";
import type { ReportedObject } from "./rules/report.ts";

/** The types of one kind, under one name. */
export interface KindTypes {
  readonly Object: ReportedObject;
  readonly Spec: { readonly suspend: boolean };
  /** Facts: the data read, and the answers of later writes. */
  readonly Snapshot: { readonly object: ReportedObject };
  /** What the process remembers about an object. */
  readonly State: unknown;
}

/** What `observe` and steps that read are given: no member can change an object, the console or the process state. */
export interface ReadContext<K extends KindTypes>
  extends Pick<Context, "caches" | "clock" | "clusterName" | "log" | "readOnly"> {
  readonly kube: KubeReader;
  readonly connections: Connections;
  /** The console of a session that this run has resolved. */
  console(session: number, options?: ConsoleOptions): IamReader;
  /** Absent in a plan: the user of a plan may not have permission to write objects. */
  readonly dryRun?: DryRun;
  /** Whether this run only plans. */
  readonly isPlan: boolean;
  /**
   * Aborts reads and waits when the process stops or the run takes too long. Must not be used for calls whose answer
   * must not be lost.
   */
  readonly signal: AbortSignal;
  /** The object's current process state; `undefined` if there is none yet. */
  readonly state: K["State"] | undefined;
}

/** Asks the API server whether it would accept a write, and how it would store it; rejects if it would not. */
export interface DryRun {
  create<T extends KubeObject>(type: ResourceType<T>, object: T): Promise<T>;
  mergePatch<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: object,
  ): Promise<T>;
}

export interface ConsoleOptions {
  /** For revoking access, see {@link IamClient.urgent}. */
  readonly isUrgent?: boolean;
}

/** What effects are given. */
export interface RunContext<K extends KindTypes>
  extends Omit<Context, "connections">,
    ReadContext<K>,
    StatusWriteContext {
  readonly kube: KubeClient;
  /** For writes of statuses and for what they need, see {@link Run.reportSignal}. */
  readonly reportSignal: AbortSignal;
  console(session: number, options?: ConsoleOptions): IamClient;
  /** Replaces the process state at once, even if the run fails later. */
  setState(state: K["State"] | undefined): void;
  /**
   * Writes the object's status as the kind reports it for this snapshot and outcome (absent: Settled), in the middle of
   * a run. Returns the snapshot with the written object. Rejects with Conflict if the object has changed.
   */
  writeStatus(snapshot: K["Snapshot"], outcome?: Outcome): Promise<K["Snapshot"]>;
  /**
   * Call it after the finalizer of this version was removed: runs over that version, still in the cache, end at once.
   */
  noteReleased(object: ReportedObject): void;
}
