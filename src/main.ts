import { requireNode } from "./util/require-node.ts";

requireNode("iam-operator", 1);
await import("./app/main.ts");
