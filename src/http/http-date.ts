/** HTTP dates in the three forms that a recipient must accept (RFC 9110, section 5.6.7). Pure. */
import { DAY, type Instant, parseInstant } from "../util/time.ts";

const TIME = "(?<time>[0-9]{2}:[0-9]{2}:[0-9]{2})";
const MONTH = "(?<month>[A-Z][a-z]{2})";
const FORMS = [
  `[A-Z][a-z]{2}, (?<day>[0-9]{2}) ${MONTH} (?<year>[0-9]{4}) ${TIME} GMT`,
  `[A-Z][a-z]+day, (?<day>[0-9]{2})-${MONTH}-(?<year>[0-9]{2}) ${TIME} GMT`,
  `[A-Z][a-z]{2} ${MONTH} (?<day>[ 0-9][0-9]) ${TIME} (?<year>[0-9]{4})`,
];
/** As the source of a regular expression, without groups. */
export const HTTP_DATE = FORMS.join("|").replaceAll(/\(\?<[a-z]+>/g, "(?:");
const PATTERNS = FORMS.map((form) => new RegExp(`^${form}$`));

/** `undefined` if the text is not an HTTP date. Two digits of a year mean a year at most 50 years after `now`. */
export function parseHttpDate(text: string | undefined, now: Instant): Instant | undefined {
  const form = PATTERNS.find((pattern) => pattern.test(text ?? ""));
  const { day, month, year = "", time = "" } = form?.exec(text ?? "")?.groups ?? {};
  // A leap second.
  const clock = time.replace(/:60$/, ":59");
  const dateIn = (century: string) =>
    parseInstant(`${day} ${month} ${century}${year} ${clock} GMT`);
  if (year.length !== 2) return dateIn("");
  const inThisCentury = dateIn("20");
  return inThisCentury !== undefined && inThisCentury > now + 50 * 365 * DAY
    ? dateIn("19")
    : inThisCentury;
}
