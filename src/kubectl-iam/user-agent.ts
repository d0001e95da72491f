import { version } from "../app/version.ts";

export const userAgent = `kubectl-iam/${version}`;
