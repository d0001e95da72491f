/** Calls the console ten times a second with the key it was given, and prints a line for every call. */
import { readFileSync, realpathSync } from "node:fs";

const everyMs = 100;
const { CONSOLE_URL, KEY_FOLDER } = process.env;
let sequence = 0;

/** The pair of this moment. Both files are read from the folder that `..data` leads to: never from two pairs. */
/** The kubelet may remove the folder between two reads: then a newer one is there. */
function key(attempts = 3) {
  try {
    return readKey();
  } catch (error) {
    if (error?.code !== "ENOENT" || attempts <= 1) throw error;
    return key(attempts - 1);
  }
}

function readKey() {
  if (KEY_FOLDER === undefined) return { keyId: process.env.KEY_ID, secret: process.env.SECRET };
  const folder = realpathSync(`${KEY_FOLDER}/..data`);
  const read = (name) => readFileSync(`${folder}/${name}`, "utf8");
  return { keyId: read("keyId"), secret: read("secret") };
}

async function call() {
  sequence += 1;
  const line = { sequence, at: new Date().toISOString() };
  try {
    const { keyId, secret } = key();
    line.keyId = keyId;
    const headers = {
      "Svc-Api-Key": keyId,
      "Svc-Api-Secret": secret,
      "X-Domain-Id": "org-1",
      "X-Domain-Name": "acme",
    };
    const path = "/api/v1/container/policy/resource-quota?clusterId=7&pageSize=1";
    // On a busy machine a call takes long, which is not a failure.
    const signal = AbortSignal.timeout(30_000);
    const answer = await fetch(new URL(path, CONSOLE_URL), { headers, signal });
    line.status = answer.status;
    // A connection that ends in the middle of the answer is a failed call as well.
    await answer.json();
  } catch (error) {
    line.error = String(error?.cause ?? error);
  }
  console.log(JSON.stringify(line));
}

// A call catches its own failures.
const timer = setInterval(() => void call(), everyMs);
process.once("SIGTERM", () => clearInterval(timer));
