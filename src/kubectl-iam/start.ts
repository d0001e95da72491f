import { enableCompileCache } from "node:module";
import { join } from "node:path";

// Beside kubectl's own cache: what is there was written by this user.
const { HOME } = process.env;
if (HOME !== undefined) enableCompileCache(join(HOME, ".kube/cache/kubectl-iam"));
const { main } = await import("./cli/main.ts");
process.exitCode = await main(process);
