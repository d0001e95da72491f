/** Controllers can only record events of the table, so the page that is generated from it has all of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { events, MAX_NOTE, toEvent } from "../../../src/api/events.ts";
import type { Context } from "../../../src/reconciler/context.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/reference/events.md"), "utf8");

test("a reason outside the table is a type error", () => {
  // @ts-expect-error: not in the table
  expect(() => toEvent("KeyForgotten", "Issue", "")).toThrow();
  const recorded: unknown[] = [];
  const recorder: Context["events"] = { record: (_, event) => recorded.push(event) };
  const object = { apiVersion: "v1", kind: "ApiKey", metadata: { name: "key", uid: "1" } };
  const event = { type: "Normal", action: "Issue", note: "" } as const;
  // @ts-expect-error: not in the table
  recorder.record(object, { ...event, reason: "KeyForgotten" });
  recorder.record(object, { ...event, reason: "KeyIssued" });
  expect(recorded).toHaveLength(2);
});

test.each(Object.entries(events))("%s is on the page, with its type", (reason, { type }) => {
  const [warnings = "", normal = ""] = page.split("## Normal events");
  const row = new RegExp(`^\\| \\[?\`${reason}\``, "m");
  expect(row.test(warnings)).toBe(type === "Warning");
  expect(row.test(normal)).toBe(type === "Normal");
});

test("a long note is cut", () => {
  expect(toEvent("KeyIssued", "Issue", "x".repeat(2_000)).note).toHaveLength(MAX_NOTE);
});
