import type { Dispatcher } from "undici";
import { type Clock, SECOND } from "../../util/time.ts";
import type { KubeCredentials, KubeEndpoint, TlsMaterial } from "../config/credentials.ts";
import { createDispatcher } from "./dispatcher.ts";

const CLOSE_MS = 5 * SECOND;

/** A connection pool that is replaced when the CA or the client certificate changes. */
export class RenewingPool {
  readonly #endpoint: KubeEndpoint;
  readonly #clock: Clock;
  readonly #connections: number;
  #current: { tls: TlsMaterial; dispatcher: Dispatcher } | undefined;

  constructor(endpoint: KubeEndpoint, clock: Clock, connections: number) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#connections = connections;
  }

  get({ tls }: KubeCredentials): Dispatcher {
    if (this.#current?.tls === tls) return this.#current.dispatcher;
    const dispatcher = createDispatcher(this.#endpoint, tls, this.#connections);
    // Running calls end on the old connections.
    this.close().catch(() => undefined);
    this.#current = { tls, dispatcher };
    return dispatcher;
  }

  /** Waits for running calls for at most `CLOSE_MS`. */
  async close(): Promise<void> {
    const dispatcher = this.#current?.dispatcher;
    this.#current = undefined;
    if (dispatcher === undefined) return;
    const cancel = this.#clock.setTimer(CLOSE_MS, () => {
      dispatcher.destroy().catch(() => undefined);
    });
    await dispatcher.close().catch(() => undefined);
    cancel();
  }
}
