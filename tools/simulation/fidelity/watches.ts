/** Watches as data: the same ones are opened on the model and on the real server, and read to an agreed end. */
import { collectionPath, queryText } from "../../../src/kube/client/api-path.ts";
import { isTree, type Tree, textAt, treeAt } from "../../api-server/tree.ts";
import { KINDS, type KindName } from "./commands.ts";
import type { Side } from "./side.ts";

/** The objects at which watches end: the first has the label, so that a watch of any selection sees one of them. */
export const ENDS: readonly Tree[] = [
  { name: "zz-labeled", labels: { team: "x" } },
  { name: "zz-plain" },
];
const LABELED_SELECTORS = ["team=x", "team"];
const PLAIN_SELECTORS = ["", "team!=x", "!team"];
const METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

export interface WatchRequest {
  readonly kind: KindName;
  /** `start`: the version from before the first command. */
  readonly version: "start" | "any" | "oldest" | "future" | "none" | "wrong";
  readonly selector?: string;
  readonly metadataOnly?: boolean;
  /** What there is, and then a bookmark; `unmatched`: asked for in a way that the server refuses. */
  readonly initial?: "wanted" | "unmatched";
}

/** Answered at once, or a stream of events. */
export interface Watched {
  readonly status: number;
  readonly reason: string;
  readonly events: readonly Tree[];
}

/** Those that tell of a sequence of commands. */
export function watchesOf(kind: KindName): readonly WatchRequest[] {
  const selectors = [...LABELED_SELECTORS, ...PLAIN_SELECTORS];
  return [
    ...selectors.map((selector) => ({ kind, version: "start", selector }) as const),
    { kind, version: "start", metadataOnly: true },
    ...["", "team=x"].map(
      (selector) => ({ kind, version: "none", initial: "wanted", selector }) as const,
    ),
    { kind, version: "none", initial: "wanted", metadataOnly: true },
    { kind, version: "any", selector: "!team" },
  ];
}

/** Those that tell of nothing, whatever has been done before. The cache of Secrets is as old as the real server. */
export const ODD_WATCHES: readonly WatchRequest[] = [
  { kind: "ApiKey", version: "oldest" },
  { kind: "ApiKey", version: "oldest", metadataOnly: true },
  { kind: "Secret", version: "future" },
  { kind: "Secret", version: "future", initial: "wanted" },
  { kind: "Secret", version: "wrong" },
  { kind: "Secret", version: "none", initial: "unmatched" },
];

export function watchPath(request: WatchRequest, namespace: string, start: string): string {
  const { kind, version, selector, initial } = request;
  const versions = {
    start,
    any: "0",
    oldest: "1",
    future: "900000000",
    none: undefined,
    wrong: "x",
  };
  const query = queryText({
    watch: true,
    allowWatchBookmarks: initial !== undefined || undefined,
    resourceVersion: versions[version],
    labelSelector: selector || undefined,
    timeoutSeconds: start === "" ? 1 : undefined,
    sendInitialEvents: initial !== undefined || undefined,
    resourceVersionMatch: initial === "wanted" ? "NotOlderThan" : undefined,
  });
  return `${collectionPath(KINDS[kind], namespace)}${query}`;
}

export function acceptOf({ metadataOnly }: WatchRequest): string {
  return metadataOnly ? METADATA_ONLY : "application/json";
}

/** Whether the event is the last one to be compared. */
export function isLast({ selector = "", initial }: WatchRequest, { type, object }: Tree): boolean {
  if (type === "ERROR") return true;
  if (initial !== undefined) return type === "BOOKMARK";
  const end = ENDS[LABELED_SELECTORS.includes(selector) ? 0 : 1];
  return isTree(object) && treeAt(object, "metadata").name === end?.name;
}

/** Without what differs between any two servers. */
export function maskedEvents({ status, reason, events }: Watched, side: Side): Tree {
  return { status, reason, events: events.map((event) => maskedEvent(event, side)) };
}

function maskedEvent({ type = "", object }: Tree, side: Side): Tree {
  if (!isTree(object)) return { type, object: null };
  if (type === "ERROR")
    return { type, code: object.code ?? 0, reason: textAt(object, "reason") ?? "" };
  if (type !== "BOOKMARK") return { type, object: side.masked(object) };
  const { resourceVersion, ...metadata } = treeAt(object, "metadata");
  return { type, object: { ...object, metadata }, version: typeof resourceVersion };
}
