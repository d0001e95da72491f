/** Seconds; longer than anything in the demo takes on a busy machine. */
export const PATIENCE_S = 120;
