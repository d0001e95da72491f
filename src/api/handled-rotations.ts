/** Which requested rotations an ApiKey's status shows as handled. Pure. */
interface HandledRotations {
  readonly lastHandledRotateAt?: string | undefined;
  readonly earlierRotateRequests?: readonly string[] | undefined;
}

/** Whether that value of the annotation `rotate-requested-at` is the last handled value, or was handled before it. */
export function isHandledRotation(
  { lastHandledRotateAt, earlierRotateRequests = [] }: HandledRotations,
  token: string,
): boolean {
  return [lastHandledRotateAt, ...earlierRotateRequests].includes(token);
}
