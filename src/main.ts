import { boundYoungGeneration } from "./util/node-flags.ts";
import { requireNode } from "./util/require-node.ts";

requireNode("iam-operator", 1);
boundYoungGeneration();
await import("./app/main.ts");
