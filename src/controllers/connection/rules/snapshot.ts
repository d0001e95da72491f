/** What a run over a connection works with, as data. */
import type { ConnectionSpec } from "../../../api/connection.ts";
import type { ClientSettings } from "../../../connections/client-settings.ts";
import type { InputsFinding } from "../../../connections/inputs.ts";
import type { IamError } from "../../../iam/errors.ts";
import type { KindTypes } from "../../frame/kind-controller.ts";
import type { Outage } from "../outage-watch.ts";
import type { Session, SessionIdentity } from "../sessions.ts";
import type { AnyConnection } from "./kind-name.ts";
import type { LoginReason } from "./login-reason.ts";

export interface ConnectionKind extends KindTypes {
  readonly Object: AnyConnection;
  readonly Spec: ReadableSpec;
  readonly Snapshot: ConnectionSnapshot;
  readonly Done: ConnectionDone;
  readonly Action: ConnectionAction;
  readonly State: undefined;
}

/** An invalid spec ends the session, and so is a finding of this kind's own. */
export type ReadableSpec =
  | { readonly suspend: boolean; readonly ok: true; readonly spec: ConnectionSpec }
  | { readonly suspend: false; readonly ok: false; readonly message: string };

export interface ConnectionSnapshot {
  readonly object: AnyConnection;
  /** As the registry and the index name it. */
  readonly key: string;
  readonly spec: ReadableSpec;
  /** What the spec's Secrets and ConfigMaps hold; absent where the spec is invalid or one could not be read. */
  readonly material: InputsFinding | undefined;
  /** What a session made now would be made from; absent without its material. */
  readonly identity: SessionIdentity | undefined;
  readonly session: Session | undefined;
  /** Since when the console has not answered, and how many objects wait for it. */
  readonly outage: (Outage & { readonly waiting: number }) | undefined;
  /** The console's clock minus ours, in seconds; absent before the first answer. */
  readonly clockSkewSeconds: number | undefined;
  /** Its namespace is going away, and Secrets go before the objects that need them. */
  readonly namespaceTerminating: boolean;
  /** Objects that must go before the connection can, by kind and name. */
  readonly users: readonly string[];
  /** A person's request for a new login that has not been answered. */
  readonly request: string | undefined;
}

export interface ConnectionDone {
  /** How the login of this run ended. */
  readonly login?: Login;
  /** Whether this run has asked a console that did not answer. */
  readonly hasProbed?: boolean;
}

export type Login =
  | { readonly kind: "Accepted"; readonly isNew: boolean }
  | { readonly kind: "Failed"; readonly reason: LoginReason; readonly error: IamError };

export type ConnectionAction =
  | { readonly kind: "CloseSession" }
  | {
      readonly kind: "OpenSession";
      readonly because: SessionChange;
      readonly identity: SessionIdentity;
      readonly settings: ClientSettings;
    }
  /** Costs no call while a token is at hand. */
  | { readonly kind: "Authenticate"; readonly session: Session }
  /** Asks a console that did not answer: its objects ask ever more rarely. */
  | { readonly kind: "Probe"; readonly session: Session };

export type SessionChange =
  | "NoSession"
  | "Recreated"
  | "SpecChanged"
  | "MaterialChanged"
  | "Requested";
