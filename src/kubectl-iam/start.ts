import { enableCompileCache } from "node:module";
import { join } from "node:path";

// The cache is beside kubectl's own cache, because only this user writes there.
const { HOME } = process.env;
if (HOME !== undefined) enableCompileCache(join(HOME, ".kube/cache/kubectl-iam"));
const { main } = await import("./cli/main.ts");
process.exitCode = await main(process);
