/** A console of plain data: its keys, and what it says to calls about them. */
import type { IamClient } from "../../../../src/iam/client/client.ts";
import { IamError, type IamErrorCode } from "../../../../src/iam/errors.ts";
import type { ActionQuery, KeyIds, NewKey } from "../../../../src/iam/model.ts";
import { Redacted } from "../../../../src/util/redacted.ts";

export interface ConsoleKey {
  readonly keyId: string;
  readonly secret: string;
  readonly description: string;
  state: "Live" | "Disabled" | "Deleted";
}

type Operation = "issueKey" | "disableKey" | "deleteKey";

/** What a call that is disturbed fails with. */
export interface Failures {
  readonly refused: Error;
  readonly unanswered: Error;
}

/** The process that calls, which may end in the middle of a call. */
export interface Caller {
  checkAlive(): void;
  /** Carries a changing call out, or fails with one of `failures`. */
  call<T>(name: Operation, effect: () => T, failures: Failures): Promise<T>;
  /** Told of the description of a key before it is made. */
  onIssue(description: string): void;
}

export class KeyConsole {
  readonly keys: ConsoleKey[] = [];
  /** Keys that the console has accepted at least once. */
  readonly verified = new Set<string>();
  isDown = false;
  /** Whether the list of keys is always empty. */
  listsNoKeys = false;
  /** What the account is shown as. */
  accountStatus: string | undefined;
  extra: { disableKey?: boolean; deleteKey?: boolean } = {};
  /** What a refused call of these answers. */
  extraRefusal: IamErrorCode = "PermissionDenied";
  /** Whether a key is accepted. */
  accepts: (key: ConsoleKey) => boolean = ({ state }) => state === "Live";
  /** Told of each key that is about to end. */
  ending: (keyId: string) => void = () => undefined;
  /** Told that the keys are about to be listed. */
  listing: () => void = () => undefined;
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** As of now: `extra` may change. */
  get client(): IamClient {
    const { disableKey, deleteKey } = this.extra;
    return {
      getServiceAccount: async (saId: string) => {
        this.#checkReachable();
        this.listing();
        const live = this.keys.filter(({ state }) => state === "Live" && !this.listsNoKeys);
        const status = this.accountStatus;
        return { saId, status, keyIds: live.map(({ keyId }) => keyId) };
      },
      issueKey: ({ description }: NewKey) => this.#issue(description),
      searchActions: async ({ key }: ActionQuery) => this.#authenticate(key?.keyId),
      ...(disableKey && {
        disableKey: ({ keyId }: KeyIds) => this.#end("disableKey", keyId, "Disabled"),
      }),
      ...(deleteKey && {
        deleteKey: ({ keyId }: KeyIds) => this.#end("deleteKey", keyId, "Deleted"),
      }),
    } as unknown as IamClient;
  }

  /** Whether there is such a key, with that secret, that has not ended. */
  isLive(keyId: string | undefined, secret: string | undefined): boolean {
    return this.keys.some(
      (key) => key.keyId === keyId && key.secret === secret && key.state === "Live",
    );
  }

  #issue(description: string) {
    const issue = () => {
      this.#checkUp();
      this.#caller.onIssue(description);
      const number = this.keys.length + 1;
      const keyId = `sak_${number}`;
      const secret = `s${number}`.repeat(43).slice(0, 43);
      this.keys.push({ keyId, secret, description, state: "Live" });
      return { keyId, secret: new Redacted(secret) };
    };
    return this.#caller.call("issueKey", issue, {
      refused: failure("InvalidArgument", 422),
      unanswered: failure("Timeout"),
    });
  }

  #end(operation: "disableKey" | "deleteKey", keyId: string, state: "Disabled" | "Deleted") {
    const end = () => {
      this.#checkUp();
      this.ending(keyId);
      for (const key of this.keys) if (key.keyId === keyId) key.state = state;
    };
    return this.#caller.call(operation, end, {
      refused: failure(this.extraRefusal),
      unanswered: failure("Timeout"),
    });
  }

  #authenticate(keyId: string | undefined): readonly never[] {
    this.#checkReachable();
    const key = this.keys.find((each) => each.keyId === keyId);
    if (key === undefined || !this.accepts(key)) throw failure("Unauthenticated", 401);
    this.verified.add(key.keyId);
    return [];
  }

  #checkReachable(): void {
    this.#caller.checkAlive();
    this.#checkUp();
  }

  #checkUp(): void {
    if (this.isDown) throw failure("Unavailable", 502);
  }
}

function failure(code: IamErrorCode, status?: number): IamError {
  return new IamError(code, "no", {
    operation: "issueKey",
    ...(status === undefined ? {} : { status }),
  });
}
