/** The data of a run over a connection. */
import type { ConnectionSpec } from "../../../api/connection.ts";
import type { InputsFinding } from "../../../connections/inputs.ts";
import type { IamError } from "../../../console/errors.ts";
import type { Effects } from "../../../reconciler/effects.ts";
import type { KindTypes } from "../../../reconciler/run-context.ts";
import type { Outage } from "../outage-watch.ts";
import type { SessionIdentity, SessionState } from "../sessions.ts";
import type { AnyConnection } from "./kind-name.ts";
import type { LoginReason } from "./login-reason.ts";

export interface ConnectionKind extends KindTypes {
  readonly Object: AnyConnection;
  readonly Spec: ReadableSpec;
  readonly Snapshot: ConnectionSnapshot;
  readonly State: undefined;
}

export type ConnectionEffects<Result> = Effects<ConnectionKind, Result>;

/** An invalid spec closes the session, so the kind handles it itself. */
export type ReadableSpec =
  | { readonly suspend: boolean; readonly ok: true; readonly spec: ConnectionSpec }
  | { readonly suspend: false; readonly ok: false; readonly message: string };

export interface ConnectionSnapshot {
  readonly object: AnyConnection;
  /** The connection's key in the registry and the index. */
  readonly key: string;
  readonly spec: ReadableSpec;
  /** The data of the spec's Secrets and ConfigMaps; absent if the spec is invalid or suspended, or a read failed. */
  readonly inputs: InputsFinding | undefined;
  /** The identity that a new session would have; absent without valid inputs. */
  readonly identity: SessionIdentity | undefined;
  readonly session: SessionState | undefined;
  /** The console's outage, and how many objects wait for the console. */
  readonly outage: (Outage & { readonly waiting: number }) | undefined;
  /** The console's clock minus the operator's clock, in seconds; absent before the first answer. */
  readonly clockSkewSeconds: number | undefined;
  /**
   * Whether the connection's namespace is terminating: its Secrets may be deleted before the objects that need them.
   */
  readonly namespaceTerminating: boolean;
  /** Objects that must be deleted before the connection, by kind and name. */
  readonly users: readonly string[];
  /** A person's request for a new login that is not handled yet. */
  readonly request: string | undefined;
  /** Absent before this run has logged in. */
  readonly login?: Login;
}

export type Login =
  | { readonly kind: "Accepted"; readonly isNew: boolean }
  | { readonly kind: "Failed"; readonly reason: LoginReason; readonly error: IamError };

export type SessionChange =
  | "NoSession"
  | "Recreated"
  | "SpecChanged"
  | "InputsChanged"
  | "Requested";
