/**
 * Number of keys issued by namespace, connection and hour for ApiKeys that have been deleted since: no status lists
 * these keys. A leader passes the counts to the next leader as text, without counts older than 24 hours.
 */
import { parseJson } from "../../util/parse-json.ts";
import { DAY, HOUR, type Instant } from "../../util/time.ts";

/** Only the entries with the most issues are stored: one for each connection and namespace, with at most 25 hours. */
const MOST_ENTRIES = 500;
const LONGEST_TEXT = 200_000;

type Hours = Map<number, number>;

export class DeletedIssues {
  readonly #issues = new Map<string, Hours>();

  add(name: string, time: Instant, count: number): void {
    // Counts as issued at the end of the hour, so that the count never lapses too early.
    const hour = Math.ceil(time / HOUR);
    const hours = this.#issues.get(name) ?? new Map<number, number>();
    this.#issues.set(name, hours.set(hour, (hours.get(hour) ?? 0) + count));
  }

  of(name: string): readonly { readonly time: Instant; readonly count: number }[] {
    const hours = this.#issues.get(name) ?? new Map<number, number>();
    return [...hours].map(([hour, count]) => ({ time: hour * HOUR, count }));
  }

  /** `undefined` if there are no counts. */
  toText(now: Instant): string | undefined {
    for (const [name, hours] of this.#issues) {
      for (const hour of hours.keys()) if (hour * HOUR <= now - DAY) hours.delete(hour);
      if (hours.size === 0) this.#issues.delete(name);
    }
    if (this.#issues.size === 0) return undefined;
    const entries = [...this.#issues]
      .toSorted(([, a], [, b]) => total(b) - total(a))
      .slice(0, MOST_ENTRIES)
      .map(([name, hours]) => [name, [...hours].map(([hour, n]) => [inHour(hour, now), n])]);
    return JSON.stringify(Object.fromEntries(entries));
  }

  /** Adds the counts that the previous leader stored. Ignores invalid text. */
  restore(text: string | undefined): void {
    for (const [name, hours] of entriesOf(parse(text)))
      for (const [hour, count] of entriesOf(Object.fromEntries(asPairs(hours))))
        if (Number.isSafeInteger(count)) this.add(name, Number(hour) * HOUR, Number(count));
  }
}

/** A later hour than the current one was stored under a clock that ran ahead: it counts for the current hour. */
function inHour(hour: number, now: Instant): number {
  return Math.min(hour, Math.ceil(now / HOUR));
}

function total(hours: Hours): number {
  return [...hours.values()].reduce((sum, count) => sum + count, 0);
}

function parse(text = ""): unknown {
  return text.length > LONGEST_TEXT ? undefined : parseJson(text);
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function asPairs(value: unknown): readonly (readonly [number, unknown])[] {
  const pairs = Array.isArray(value) ? value.filter(Array.isArray) : [];
  return pairs.filter(([hour]) => Number.isSafeInteger(hour)).map(([hour, count]) => [hour, count]);
}
