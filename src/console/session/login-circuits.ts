import type { Random } from "../../util/random.ts";
import type { Clock } from "../../util/time.ts";
import type { LoginCredentials } from "../model.ts";
import { LoginCircuit } from "./login-circuit.ts";

export interface SharedCircuit {
  readonly circuit: LoginCircuit;
  /** Must be called when the client is closed. */
  leave(): void;
}

/**
 * The circuits of all logins that clients use. Clients with the same credentials for the same console share a circuit,
 * so neither a new client nor a second connection sends a wrong password more often.
 */
export class LoginCircuits {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #shared = new Map<string, { readonly circuit: LoginCircuit; users: number }>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  join(baseURL: string, { username, password, domain }: LoginCredentials): SharedCircuit {
    const id = JSON.stringify([baseURL, username, domain, password.reveal()]);
    const entry = this.#shared.get(id) ?? {
      circuit: new LoginCircuit(this.#clock, this.#random),
      users: 0,
    };
    entry.users += 1;
    this.#shared.set(id, entry);
    return {
      circuit: entry.circuit,
      leave: () => {
        entry.users -= 1;
        if (entry.users === 0) this.#shared.delete(id);
      },
    };
  }
}
