/** Looks for secrets where none may be. */
import { spellings } from "../../src/console/exchange/secret-spellings.ts";
import { Redacted } from "../../src/util/redacted.ts";

interface Leak {
  /** Which channel: a log line, an event, a status, the metrics. */
  readonly where: string;
  /** The first characters of the secret are enough to find it. */
  readonly secret: string;
}

/** Every place in which one of the secrets stands, in any of its spellings. */
export function findLeaks(
  channels: Readonly<Record<string, string>>,
  secrets: readonly string[],
): readonly Leak[] {
  const needles = secrets
    .filter((secret) => secret.length >= 8)
    .flatMap((secret) =>
      spellings(new Redacted(secret)).map((each) => ({ secret, text: each.reveal() })),
    );
  return Object.entries(channels).flatMap(([where, content]) =>
    needles
      .filter(({ text }) => content.includes(text))
      .map(({ secret }) => ({ where, secret: `${secret.slice(0, 4)}…` })),
  );
}
