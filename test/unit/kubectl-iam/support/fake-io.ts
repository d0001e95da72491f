import type { Io } from "../../../../src/kubectl-iam/cli/io.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

/** What a command says, and what it is told, without a terminal. */
export function fakeIo(settings: Partial<Io> = {}) {
  const printed: string[] = [];
  const noted: string[] = [];
  const io: Io = {
    clock: createFakeClock(),
    environment: {},
    width: undefined,
    hasColor: false,
    hasProgress: false,
    isInteractive: false,
    print: (text) => void printed.push(text),
    note: (text) => void noted.push(text),
    progress: () => undefined,
    readInput: async () => "",
    ask: async () => "",
    interrupted: new AbortController().signal,
    ...settings,
  };
  return { io, printed, noted };
}
