/** Reads the answer of a call that changes something and whose answer the spec does not show. */
import { ownEntry } from "../../util/own-entry.ts";
import type { Json } from "../model.ts";
import { isJsonObject, type JsonObject, parseJson } from "./json.ts";
import { ShapeError } from "./shape-error.ts";

const REFUSAL_FIELDS = ["error", "errors", "fault", "exception", "detail"] as const;
const STATUS_FIELDS = ["status", "statusCode", "httpStatus", "code"] as const;
const SUCCESS_FIELDS = ["success", "ok"] as const;

/**
 * Throws ShapeError unless the body can be the console's answer: empty, or a JSON object or list that does not report
 * an error. Such a body does not prove that the call had an effect: only a read does.
 */
export function readAcknowledgement(body: Buffer): void {
  if (body.toString("utf8").trim() === "") return;
  const json = parseJson(body);
  if (json === undefined) throw new ShapeError("the answer is neither empty nor JSON");
  if (typeof json !== "object") throw new ShapeError("the answer is neither an object nor a list");
  refuseErrorReport(json);
}

/** Throws ShapeError if a successful answer plainly reports an error: a gateway sent it in the console's place. */
export function refuseErrorReport(json: Json): void {
  if (isJsonObject(json) && isErrorReport(json))
    throw new ShapeError("the answer reports an error");
}

function isErrorReport(report: JsonObject): boolean {
  return (
    REFUSAL_FIELDS.some((name) => isSaid(ownEntry(report, name))) ||
    STATUS_FIELDS.some((name) => isErrorStatus(ownEntry(report, name))) ||
    SUCCESS_FIELDS.some((name) => ownEntry(report, name) === false)
  );
}

/** Whether a field has a value: many APIs always send `"error": null` or an empty list. */
function isSaid(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== "" && value !== false && value !== 0;
}

function isErrorStatus(value: Json | undefined): boolean {
  if (typeof value === "string") return /^([45]\d\d|error|fail(ed|ure)?)$/i.test(value.trim());
  return typeof value === "number" && value >= 400 && value < 600;
}
