/** Why a run was aborted that took too long. */
export class RunTimedOut extends Error {
  override readonly name = "RunTimedOut";
}
