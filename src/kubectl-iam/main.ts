#!/usr/bin/env node
import { requireNode } from "../util/require-node.ts";

requireNode("kubectl-iam", 3);
await import("./start.ts");
