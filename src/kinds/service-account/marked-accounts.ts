/** Console accounts that may have been created for an object, from the last list over a connection. */

import type { IamServiceAccount } from "../../console/model.ts";
import { keyText, type ObjectKey, parseKey } from "../../kube/resource.ts";
import { type Marker, markerOf } from "../../resources/marker.ts";
import { TenantMemory, type TenantValues } from "../../util/tenant-memory.ts";
import { AccountLists } from "./account-lists.ts";
import type { MarkedAccount } from "./rules/snapshot.ts";

/** More accounts of one object than its status lists. */
const MOST_OF_OBJECT = 100;

/** What a list is compared with. */
export interface ListedObjects {
  /** Whether an object has the account. */
  isNamed(saId: string): boolean;
  /** Whether the marker's object exists in this cluster and uses the connection of the list. */
  isUser(marker: Marker): boolean;
  /** The objects whose accounts would have been created like this one. */
  namesakesOf(account: IamServiceAccount): readonly ObjectKey[];
}

/**
 * Keeps only accounts that no object has, for objects that use the connection. If they are lost, findings are missing
 * until the next list.
 */
export class MarkedAccounts {
  readonly lists = new AccountLists();
  readonly #accounts: TenantValues<readonly MarkedAccount[]>;
  /** By connection that was listed: the objects with accounts. */
  readonly #listed = new Map<string, ReadonlySet<string>>();
  /** Several objects may share a list. */
  readonly #noted = new WeakSet<readonly IamServiceAccount[]>();
  readonly #enqueue: (key: ObjectKey) => void;

  /** `enqueue` receives an object for which a list has found accounts. */
  constructor(enqueue: (key: ObjectKey) => void, memory = new TenantMemory()) {
    this.#enqueue = enqueue;
    this.#accounts = memory.open();
  }

  /** Records all accounts, as listed over the connection. */
  note(connection: string, accounts: readonly IamServiceAccount[], objects: ListedObjects): void {
    if (this.#noted.has(accounts)) return;
    this.#noted.add(accounts);
    const found = new Map<string, MarkedAccount[]>();
    const ownersOf = accounts.some(isMarked) ? markedOwner(objects) : objects.namesakesOf;
    for (const account of accounts) {
      const { saId, description = "" } = account;
      if (objects.isNamed(saId)) continue;
      for (const owner of ownersOf(account)) {
        const marked = found.get(keyText(owner)) ?? [];
        if (marked.length < MOST_OF_OBJECT) marked.push({ saId, description });
        found.set(keyText(owner), marked);
      }
    }
    for (const text of this.#listed.get(connection) ?? [])
      if (!found.has(text)) this.#accounts.delete(placeOf(connection, text));
    this.#listed.set(connection, new Set(found.keys()));
    for (const [text, marked] of found) this.#put(connection, text, marked);
  }

  /** `undefined` if this process has listed no accounts over the connection. */
  of(connection: string, key: ObjectKey): readonly MarkedAccount[] | undefined {
    if (!this.#listed.has(connection)) return undefined;
    return this.#accounts.get(placeOf(connection, keyText(key))) ?? [];
  }

  /** Drops what is known of a connection that no object uses any more. */
  forget(connection: string): void {
    this.lists.forget(connection);
    for (const text of this.#listed.get(connection) ?? [])
      this.#accounts.delete(placeOf(connection, text));
    this.#listed.delete(connection);
  }

  #put(connection: string, text: string, marked: readonly MarkedAccount[]): void {
    const place = placeOf(connection, text);
    const before = this.#accounts.get(place)?.length;
    const key = parseKey(text);
    this.#accounts.set(place, key.namespace, marked);
    if (marked.length !== before) this.#enqueue(key);
  }
}

const isMarked = ({ description = "" }: IamServiceAccount) => markerOf(description) !== undefined;

function markedOwner({ isUser }: ListedObjects): ListedObjects["namesakesOf"] {
  return ({ description = "" }) => {
    const marker = markerOf(description);
    return marker !== undefined && isUser(marker) ? [marker] : [];
  };
}

function placeOf(connection: string, object: string): string {
  return `${connection} ${object}`;
}
