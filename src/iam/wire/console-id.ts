/** A longer one could not be noted in any status. */
const LONGEST = 256;

/** Whether the value can be used as an id of the console. */
export function isConsoleId(value: unknown): value is string {
  return (
    typeof value === "string" && value !== "" && value.length <= LONGEST && value.isWellFormed()
  );
}
