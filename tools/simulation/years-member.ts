/** A thread that lives through years with its share of the keys. */
import { parentPort, workerData } from "node:worker_threads";
import { liveForYears, type YearsOptions } from "./years.ts";

Error.stackTraceLimit = 0;

const onProgress = (line: string) => parentPort?.postMessage({ line });
parentPort?.postMessage({
  years: await liveForYears({ ...(workerData as YearsOptions), onProgress }),
});
