/** A serving certificate in files that another program renews. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import type { Log } from "../util/log.ts";
import { type Clock, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import type { Certificate } from "./http-server.ts";

const LOOK_EVERY_MS = 30 * SECOND;

/** Reads `tls.crt` and `tls.key` of the folder. Throws if a file is missing or they do not match. */
export async function readCertificate(folder: string): Promise<Certificate> {
  const [cert, key] = await Promise.all(
    ["tls.crt", "tls.key"].map((name) => readFile(join(folder, name), "utf8")),
  );
  const pair = { cert: cert ?? "", key: key ?? "" };
  createSecureContext(pair);
  return pair;
}

interface FollowOptions {
  readonly folder: string;
  readonly known: Certificate;
  readonly onChange: (certificate: Certificate) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reads the files again every 30 seconds. Ignores files that do not match, such as during a renewal. Returns a function
 * that stops reading.
 */
export function followCertificate({
  folder,
  known,
  onChange,
  clock,
  log,
}: FollowOptions): () => void {
  let current = known;
  let cancel: () => void = () => undefined;
  const look = async () => {
    try {
      const read = await readCertificate(folder);
      if (read.cert !== current.cert || read.key !== current.key) {
        current = read;
        onChange(read);
        log.info({}, "the metrics have a new certificate");
      }
    } catch (error) {
      log.warn(
        { err: toError(error) },
        "the certificate of the metrics cannot be read; the previous certificate stays in use",
      );
    }
    wait();
  };
  const wait = () => {
    cancel = clock.setTimer(LOOK_EVERY_MS, () => {
      look().catch(wait);
    });
  };
  wait();
  return () => cancel();
}
