/** Runs a control plane in the foreground, for playing by hand. See README.md. */
import { once } from "node:events";
import { readFlags } from "../../scripts/flags.ts";
import { findBinaries } from "./binaries.ts";
import { startControlPlane } from "./control-plane.ts";

const values = readFlags("cluster", {
  "build-only": { type: "boolean", default: false },
  directory: { type: "string" },
  keep: { type: "boolean", default: false },
});
const onProgress = (line: string) => process.stderr.write(`${line}\n`);

if (values["build-only"]) {
  const { kubectl } = await findBinaries(onProgress);
  console.log(`kubectl    ${kubectl}`);
} else {
  const { directory } = values;
  await findBinaries(onProgress);
  const stopSignal = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  const cluster = await startControlPlane({ onProgress, ...(directory ? { directory } : {}) });
  console.log(`server     ${cluster.url}`);
  console.log(`directory  ${cluster.directory}`);
  console.log(`kubectl    ${cluster.kubectl}`);
  console.log(`kubeconfig ${cluster.kubeconfig}`);
  console.log("ready; Ctrl-C stops it");
  await stopSignal;
  await cluster.stop({ keep: values.keep });
}
