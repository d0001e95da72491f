/** A console in a tenant's hands: the documented answers with as many elements as fit, all different. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { startWeb } from "../../../support/local-server.ts";

/** What the client reads of one answer at most. */
const MOST_BYTES = 8 * 2 ** 20 - 10_000;

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [name: string]: Json;
}

/** Ways to spoil an honest answer; each fits any documented answer. */
const spoilers = {
  /** As many elements as fit, all different, with 64 amounts in every text that has one. */
  largest: (honest) => JSON.stringify(multiplied(honest, distinct)),
  /** As many as fit, with as long a text before each marker as is read. */
  marked: (honest) =>
    JSON.stringify(multiplied(mapValues(honest, isText, withLongStart), distinct)),
  /** Every page names another one. */
  endless: (honest) =>
    isList(honest) || honest === null || typeof honest !== "object"
      ? JSON.stringify(honest)
      : JSON.stringify({ ...honest, hasNext: true, totalPages: 1e9, next: "/next" }),
  duplicated: (honest) => JSON.stringify(multiplied(honest, (part) => part)),
  long: (honest) => JSON.stringify(mapValues(honest, isText, (text) => text + "𝒳".repeat(2_000))),
  deepest: (honest) => withField(honest, `${"[".repeat(500_000)}${"]".repeat(500_000)}`),
  fields: (honest) =>
    withField(honest, `{${Array.from({ length: 600_000 }, (_, n) => `"${n}x":0`).join(",")}}`),
  contradictory: (honest) => JSON.stringify(mapValues(honest, isNumber, (n) => -n || 1e15)),
} satisfies Readonly<Record<string, (honest: Json) => string>>;

/** `slow` sends a byte a second, so that the last one never comes in time. */
type Spoiling = keyof typeof spoilers | "slow";
export const spoilings = [...Object.keys(spoilers), "slow"] as readonly Spoiling[];

interface SpoilingConsole {
  readonly url: string;
  /** How many answers were spoiled. */
  readonly spoiled: number;
}

/** Stands before an honest console, and spoils what it answers after a login. */
export async function startSpoilingConsole(
  honestURL: string,
  spoiling: Spoiling,
): Promise<SpoilingConsole> {
  let spoiled = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const honest = await forward(honestURL, request);
    const body = await honest.text();
    response.writeHead(honest.status, { "content-type": "application/json" });
    const isLogin = request.url?.endsWith("/login");
    if (isLogin || !honest.ok || body === "") return void response.end(body);
    spoiled += 1;
    if (spoiling === "slow") return drip(response, body);
    response.end(spoilers[spoiling](JSON.parse(body)));
  };
  const { url } = await startWeb((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  return {
    url,
    get spoiled() {
      return spoiled;
    },
  };
}

async function forward(honestURL: string, request: IncomingMessage): Promise<Response> {
  const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
  const body = await text(request);
  return fetch(`${honestURL}${request.url}`, {
    method: request.method ?? "GET",
    headers: headers as Record<string, string>,
    ...(body === "" ? {} : { body }),
  });
}

function drip(response: ServerResponse, body: string): void {
  const letters = body[Symbol.iterator]();
  const timer = setInterval(() => response.write(letters.next().value ?? " "), 1_000);
  response.on("close", () => clearInterval(timer));
}

function withField(json: Json, field: string): string {
  const honest = JSON.stringify(json);
  return isList(json)
    ? `[${honest.slice(1, -1)},${field}]`
    : `${honest.slice(0, -1)},"zzz":${field}}`;
}

/** The lists of an answer share what it may have of bytes; numbers that count a list still do. */
function multiplied(json: Json, copy: (part: Json, n: number) => Json): Json {
  let lists = 0;
  mapValues(json, isList, (list) => {
    lists += 1;
    return list;
  });
  const room = MOST_BYTES / Math.max(1, lists) - 100_000;
  const counts = new Map<number, number>();
  const grown = mapValues(json, isList, (list) => {
    const made = copies(list, room, copy);
    counts.set(list.length, made.length);
    return made;
  });
  return mapValues(grown, isNumber, (n) => counts.get(n) ?? n);
}

function copies(
  list: readonly Json[],
  room: number,
  copy: (part: Json, n: number) => Json,
): readonly Json[] {
  const made: Json[] = [];
  let bytes = 0;
  while (list.length > 0) {
    const next = copy(list[made.length % list.length] ?? null, made.length);
    bytes += Buffer.byteLength(JSON.stringify(next)) + 1;
    if (bytes > room) break;
    made.push(next);
  }
  return made;
}

/** As many amounts as are read of one text, in as few bytes as possible. */
const AMOUNTS = Array.from({ length: 64 }, (_, n) => `${n.toString(36)}:0/1`).join(",");

const withLongStart = (text: string) =>
  text.includes("k8s ") ? `${"𝒳".repeat(2_000)} ${text}` : text;

function distinct(part: Json, n: number): Json {
  return mapValues(part, isText, (text) =>
    /^-?$|: *[^/]+\//.test(text) ? AMOUNTS : `${text}-${n}`,
  );
}

/** A copy in which values of that type are changed, the outermost ones. */
function mapValues<T extends Json>(
  json: Json,
  is: (json: Json) => json is T,
  change: (value: T) => Json,
): Json {
  if (is(json)) return change(json);
  if (isList(json)) return json.map((one) => mapValues(one, is, change));
  if (json === null || typeof json !== "object") return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, mapValues(value, is, change)]),
  );
}

function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json);
}

function isText(json: Json): json is string {
  return typeof json === "string";
}

function isNumber(json: Json): json is number {
  return typeof json === "number";
}
