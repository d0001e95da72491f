/** Describes an error in one sentence. */
import { IamError } from "../../console/errors.ts";
import { KubeError } from "../../kube/errors.ts";
import { toError } from "../../util/to-error.ts";
import { clean } from "../view/screen.ts";
import { type ExitCode, exitCode, Failure, Unknown, UsageError } from "./errors.ts";

interface Ending {
  readonly message: string;
  readonly code: ExitCode;
}

export function describeError(thrown: unknown): Ending {
  if (thrown instanceof Unknown)
    return { message: describeError(thrown.cause).message, code: exitCode.unknown };
  const error = toError(thrown);
  const code = error instanceof UsageError ? exitCode.usage : exitCode.failed;
  return { message: clean(sentenceOf(error)), code };
}

function sentenceOf(error: Error): string {
  if (error instanceof UsageError || error instanceof Failure) return error.message;
  if (error instanceof KubeError) return ofApiServer(error);
  if (error instanceof IamError) return ofConsole(error);
  return `unexpected: ${error.message}; please report this`;
}

function ofApiServer({ code, reason, message }: KubeError): string {
  switch (code) {
    case "Forbidden":
      return `the API server refuses it (${message}); kubectl auth can-i --list shows what you may do`;
    case "Unauthenticated":
      return `the API server does not accept your credentials (${message})`;
    case "NotFound":
      return reason === "NotFound"
        ? message
        : `the operator's CRDs are not installed in this cluster (${message})`;
    case "Unavailable":
    case "Timeout":
      return `the API server cannot be reached (${message})`;
    default:
      return message;
  }
}

function ofConsole({ message, requestId }: IamError): string {
  const isNamed = requestId === undefined || message.includes(requestId);
  return isNamed ? message : `${message} (request ${requestId})`;
}
