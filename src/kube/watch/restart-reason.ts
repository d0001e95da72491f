/** Maps the failure of a stream or a listing to its restart reason. */

import { HttpError } from "../../http/http.ts";
import { assertNever } from "../../util/assert-never.ts";
import { isInitializing, isVersionTooLarge } from "../client/status.ts";
import { KubeError } from "../errors.ts";
import { LineTooLong, LineTruncated } from "./lines.ts";
import type { RestartReason } from "./watch-state.ts";
import { StreamError } from "./watch-stream.ts";

export function restartReasonOf(error: unknown): RestartReason {
  if (error instanceof KubeError) return ofKubeError(error);
  if (error instanceof LineTruncated) return "Truncated";
  if (error instanceof LineTooLong || error instanceof StreamError) return "Malformed";
  if (error instanceof HttpError) return "Unavailable";
  return "Unexpected";
}

const UNSUPPORTED: readonly (number | undefined)[] = [400, 405, 406, 415, 422];

function ofKubeError(error: KubeError): RestartReason {
  const { code } = error;
  switch (code) {
    case "Gone":
      return isVersionTooLarge(error) ? "VersionWentBack" : "Gone";
    case "BadRequest":
    case "Invalid":
      return UNSUPPORTED.includes(error.status) ? "Unsupported" : "Unavailable";
    case "MalformedResponse":
      return "Malformed";
    case "RateLimited":
      return isInitializing(error) ? "Initializing" : code;
    // A reader cannot be in conflict: something between answers instead of the API server.
    case "AlreadyExists":
    case "Conflict":
    case "Timeout":
      return "Unavailable";
    case "Unavailable":
    case "Unauthenticated":
    case "Forbidden":
    case "NotFound":
      return code;
    case "NotLeading":
      return "Unexpected";
    default:
      return assertNever(code);
  }
}
