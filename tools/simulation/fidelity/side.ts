/** One of the two servers, and what a sequence of commands has seen of it. */
import {
  apiVersionOf,
  collectionPath,
  objectPath,
  queryText,
} from "../../../src/kube/client/api-path.ts";
import { mergePatched } from "../../../src/util/merge-patch.ts";
import { isTree, type Json, type Tree, textAt, treeAt } from "../../api-server/tree.ts";
import { type Command, KINDS, type KindName, type Reference, type Target } from "./commands.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly contentType?: string;
  readonly body?: Tree;
}

export interface Answer {
  readonly status: number;
  readonly body: Tree;
}

export type Exchange = (call: Call) => Promise<Answer>;

/** Versions and UIDs of one object in the order in which they were seen. */
interface Seen {
  readonly versions: string[];
  readonly uids: string[];
}

export class Side {
  readonly namespace: string;
  /** The words of the latest refusal; not compared. */
  said = "";
  readonly #exchange: Exchange;
  readonly #seen = new Map<string, Seen>();

  constructor(namespace: string, exchange: Exchange) {
    this.namespace = namespace;
    this.#exchange = exchange;
  }

  /** Runs the command; answers what can be compared with the other side. */
  async run(command: Command): Promise<Tree> {
    const { status, body } = await this.#send(command);
    this.said = textAt(body, "message") ?? "";
    if (status >= 300) return { status, reason: textAt(body, "reason") ?? "" };
    const isDryRun = "dryRun" in command && command.dryRun && status === 201;
    return { status, body: this.masked(isDryRun ? unstored(body) : body) };
  }

  async #send(command: Command): Promise<Answer> {
    if (command.kind === "Replace") return this.#replace(command);
    return this.#exchange(this.#toCall(command));
  }

  /** Reads, changes and writes back, as a client does. */
  async #replace(command: Extract<Command, { kind: "Replace" }>): Promise<Answer> {
    const path = this.#path(command.target);
    const { status, body } = await this.#exchange({ method: "GET", path });
    const live = status === 200 ? body : { metadata: { name: command.target.name } };
    const { managedFields: _, ...metadata } = treeAt(live, "metadata");
    const { version, uid } = this.#guards(command);
    const guarded: Tree = { ...metadata, resourceVersion: version, uid };
    const next = { ...live, ...command.change, metadata: guarded };
    const query = queryText({ fieldManager: "other", ...dryRun(command) });
    return this.#exchange({
      method: "PUT",
      path: `${path}${command.status ? "/status" : ""}${query}`,
      body: withType(command.target.kind, next),
    });
  }

  #toCall(command: Exclude<Command, { kind: "Replace" }>): Call {
    switch (command.kind) {
      case "Get":
        return { method: "GET", path: this.#path(command.target) };
      case "List": {
        const { limit, selector } = command;
        const query = queryText({
          limit: limit || undefined,
          labelSelector: selector || undefined,
        });
        return {
          method: "GET",
          path: `${collectionPath(KINDS[command.of], this.namespace)}${query}`,
        };
      }
      case "Create": {
        const type = KINDS[command.target.kind];
        const query = queryText({ fieldManager: "iam-operator", ...dryRun(command) });
        const path = `${collectionPath(type, this.namespace)}${query}`;
        return { method: "POST", path, body: withType(command.target.kind, command.body) };
      }
      default:
        return this.#toGuardedCall(command);
    }
  }

  #toGuardedCall(command: Extract<Command, { kind: "Patch" | "Apply" | "Delete" }>): Call {
    const path = this.#path(command.target);
    const { version, uid } = this.#guards(command);
    const guards = { resourceVersion: version, uid };
    if (command.kind === "Delete") {
      const body: Tree = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: guards,
        ...(command.dryRun ? { dryRun: ["All"] } : {}),
      };
      return { method: "DELETE", path, body };
    }
    const isApply = command.kind === "Apply";
    const query = queryText({
      fieldManager: isApply ? command.manager : "iam-operator",
      ...(isApply ? { force: true } : {}),
      ...dryRun(command),
    });
    const withGuards = mergePatched(command.body, { metadata: guards }) as Tree;
    return {
      method: "PATCH",
      path: `${path}${command.status ? "/status" : ""}${query}`,
      contentType: isApply ? "application/apply-patch+yaml" : "application/merge-patch+json",
      body: isApply ? withType(command.target.kind, withGuards) : withGuards,
    };
  }

  #path({ kind, name }: Target): string {
    return objectPath(KINDS[kind], { namespace: this.namespace, name });
  }

  #guards({ target, version, uid }: { target: Target; version: Reference; uid: Reference }) {
    const { versions, uids } = this.#of(KINDS[target.kind].kind, target.name);
    return {
      version: resolved(version, versions, "1"),
      uid: resolved(uid, uids, "00000000-0000-0000-0000-000000000000"),
    };
  }

  #of(kind: string, name: string): Seen {
    const id = `${kind}/${name}`;
    const known = this.#seen.get(id) ?? { versions: [], uids: [] };
    this.#seen.set(id, known);
    return known;
  }

  /** Without what differs between any two servers; versions and UIDs become ordinal numbers. */
  masked(body: Tree, known?: string): Tree {
    if (Array.isArray(body.items)) {
      const kind = String(body.kind).replace(/List$/, "");
      const { remainingItemCount } = treeAt(body, "metadata");
      const items = body.items.map((item) => (isTree(item) ? this.masked(item, kind) : item));
      return { kind, remainingItemCount, items };
    }
    if (body.kind === "Status")
      return { kind: "Status", details: { ...treeAt(body, "details"), uid: null } };
    const { apiVersion: _, kind = known, ...rest } = body;
    const metadata = this.#maskedMetadata(String(kind), treeAt(body, "metadata"));
    return { ...rest, kind, metadata };
  }

  #maskedMetadata(kind: string, metadata: Tree): Tree {
    const { managedFields: _, selfLink: __, namespace: ___, ...rest } = metadata;
    const seen = this.#of(kind, String(metadata.name));
    return {
      ...rest,
      creationTimestamp: "set",
      ...(metadata.deletionTimestamp === undefined ? {} : { deletionTimestamp: "set" }),
      resourceVersion: ordinal(seen.versions, metadata.resourceVersion),
      uid: ordinal(seen.uids, metadata.uid),
    };
  }
}

/** What was not created has no version and no UID, whatever the answer says. */
function unstored(body: Tree): Tree {
  const { resourceVersion: _, uid: __, ...metadata } = treeAt(body, "metadata");
  return { ...body, metadata };
}

function ordinal(seen: string[], value: Json | undefined): number | string {
  if (typeof value !== "string" || value === "") return "none";
  if (!seen.includes(value)) seen.push(value);
  return seen.indexOf(value);
}

function resolved(
  reference: Reference,
  seen: readonly string[],
  wrong: string,
): string | undefined {
  switch (reference) {
    case "none":
      return undefined;
    case "current":
      return seen.at(-1);
    case "first":
      return seen[0];
    case "wrong":
      return wrong;
  }
}

function withType(kind: KindName, body: Tree): Tree {
  return { ...body, apiVersion: apiVersionOf(KINDS[kind]), kind };
}

function dryRun({ dryRun: wanted }: { readonly dryRun: boolean }) {
  return wanted ? { dryRun: "All" } : {};
}
