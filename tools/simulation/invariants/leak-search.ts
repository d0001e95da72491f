/** [S13] Finds secrets in what anybody may read. */
import { DEFAULT_CREDENTIALS } from "../../iam-server/seed.ts";
import type { SimWorld } from "../sim-world.ts";

export class LeakSearch {
  readonly #world: SimWorld;
  #needles: readonly string[] = [];
  #changes = -1;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  /** Whether a text shows a secret, plain or in base64. */
  finds(text: string): boolean {
    return this.#current().some((needle) => text.includes(needle));
  }

  /** Made anew only when the console has changed. */
  #current(): readonly string[] {
    const { world } = this.#world.console;
    if (world.journal.length === this.#changes) return this.#needles;
    this.#changes = world.journal.length;
    const secrets = [...world.issuedSecrets(), DEFAULT_CREDENTIALS.password];
    this.#needles = secrets.flatMap((secret) => [secret, base64Of(secret)]);
    return this.#needles;
  }
}

/** Without the last characters, which depend on what follows. */
function base64Of(secret: string): string {
  return Buffer.from(secret).toString("base64").slice(0, -4);
}
