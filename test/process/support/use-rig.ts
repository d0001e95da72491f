import { afterAll, beforeAll } from "vitest";
import { openRig, type Rig } from "./rig.ts";

/** Real servers for all tests of a file. The first start on a machine builds them, hence the patience. */
export function useRig(): () => Rig {
  let rig: Rig | undefined;
  beforeAll(async () => {
    rig = await openRig();
  }, 30 * 60_000);
  afterAll(() => rig?.close());
  return () => {
    if (rig === undefined) throw new Error("there is a rig only while tests run");
    return rig;
  };
}
