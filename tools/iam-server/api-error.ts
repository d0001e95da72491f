/** What was wrong with one part of a request. */
export interface Problem {
  /** For example `["query", "pageSize"]`. */
  readonly where: readonly (string | number)[];
  readonly what: string;
}

/** An answer other than success, as the console gives it. */
export class ApiError extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];

  constructor(status: number, message: string, problems: readonly Problem[] = []) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.problems = problems;
  }
}

export const unauthenticated = (why: string) => new ApiError(401, why);
export const policyDenied = () => new ApiError(403, "Policy denied");
export const notFound = (what: string) => new ApiError(404, `${what} not found`);

/** 422 for one part of the request. */
export function invalid(where: Problem["where"], what: string): ApiError {
  return new ApiError(422, `Validation failed: ${where.join(".")}: ${what}`, [{ where, what }]);
}
