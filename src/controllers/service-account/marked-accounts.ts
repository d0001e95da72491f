/** Console accounts whose descriptions name an object, from the last list over a connection. */
import type { IamServiceAccount } from "../../iam/model.ts";
import { keyText, type ObjectKey } from "../../kube/resource.ts";
import { markerOf } from "../marker.ts";
import { AccountLists } from "./account-lists.ts";
import type { MarkedAccount } from "./rules/snapshot.ts";

type ByObject = ReadonlyMap<string, readonly MarkedAccount[]>;

/** Keeps only accounts that no object names. If it is lost, findings are missing until the next list. */
export class MarkedAccounts {
  readonly lists = new AccountLists();
  readonly #byConnection = new Map<string, ByObject>();
  /** Several objects may share a list. */
  readonly #noted = new WeakSet<readonly IamServiceAccount[]>();
  readonly #enqueue: (key: ObjectKey) => void;

  /** `enqueue` receives an object for which a list has found accounts. */
  constructor(enqueue: (key: ObjectKey) => void) {
    this.#enqueue = enqueue;
  }

  /** Records all accounts, as listed over the connection. */
  note(
    connection: string,
    accounts: readonly IamServiceAccount[],
    isNamed: (saId: string) => boolean,
  ): void {
    if (this.#noted.has(accounts)) return;
    this.#noted.add(accounts);
    const before = this.#byConnection.get(connection);
    const found = new Map<string, { key: ObjectKey; accounts: MarkedAccount[] }>();
    for (const { saId, description = "" } of accounts) {
      const marker = isNamed(saId) ? undefined : markerOf(description);
      if (marker === undefined) continue;
      const key = { namespace: marker.namespace, name: marker.name };
      const entry = found.get(keyText(key)) ?? { key, accounts: [] };
      entry.accounts.push({ saId, description });
      found.set(keyText(key), entry);
    }
    this.#byConnection.set(
      connection,
      new Map([...found].map(([key, entry]) => [key, entry.accounts])),
    );
    for (const [text, { key, accounts: now }] of found)
      if (now.length !== before?.get(text)?.length) this.#enqueue(key);
  }

  /** `undefined` if this process has listed no accounts over the connection. */
  of(connection: string, key: ObjectKey): readonly MarkedAccount[] | undefined {
    const byObject = this.#byConnection.get(connection);
    return byObject && (byObject.get(keyText(key)) ?? []);
  }
}
