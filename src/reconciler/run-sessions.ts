import type { ConnectionRef } from "../api/fields.ts";
import type { IamClient } from "../console/client/client.ts";
import { extraOperations } from "../console/endpoints.ts";
import type { Instant } from "../util/time.ts";
import type { ConnectionLookup, Connections, ConsoleSession, WithClient } from "./context.ts";
import type { ConsoleOptions } from "./run-context.ts";

/**
 * The console sessions of one run. What a run decides on is data and names a session; its steps call the console through
 * exactly that session, even if the connection has a new one by then.
 */
export class RunSessions implements Connections {
  readonly #connections: Connections<WithClient>;
  readonly #isRequested: boolean;
  readonly #clients: IamClient[] = [];

  /** For a requested run, the operator calls the console even if the console asked it to wait. */
  constructor(connections: Connections<WithClient>, isRequested = false) {
    this.#connections = connections;
    this.#isRequested = isRequested;
  }

  /** By the clocks of the consoles that the run has resolved: the earliest time; `undefined` if none is known. */
  get consoleTime(): Instant | undefined {
    const times = this.#clients.map((client) => client.consoleTime());
    const known = times.filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  async resolve(ref: ConnectionRef, namespace: string): Promise<ConnectionLookup> {
    const found = await this.#connections.resolve(ref, namespace);
    if (found.ok) {
      const { client, ...access } = found.access;
      const session = this.#sessionOf(this.#isRequested ? client.requested : client);
      return { ok: true, access: { ...access, ...session } };
    }
    const { ungranted, ...rest } = found;
    if (ungranted === undefined) return rest;
    const { client, ...access } = ungranted;
    return { ...rest, ungranted: { ...access, ...this.#sessionOf(client) } };
  }

  /** The client of a session that this run has resolved. */
  client(session: number, { isUrgent = false }: ConsoleOptions = {}): IamClient {
    const client = this.#clients[session];
    if (client === undefined)
      throw new Error(`this run did not resolve console session ${session}`);
    return isUrgent ? client.urgent : client;
  }

  #sessionOf(client: IamClient): ConsoleSession {
    const extraCalls = new Set(extraOperations.filter((name) => client[name] !== undefined));
    const known = this.#clients.indexOf(client);
    return { session: known < 0 ? this.#clients.push(client) - 1 : known, extraCalls };
  }
}
