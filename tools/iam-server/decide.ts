import type { IncomingHttpHeaders } from "node:http";
import { ApiError, invalid } from "./api-error.ts";
import { authenticate, type Principal } from "./authentication.ts";
import { requireHeaders } from "./authorization.ts";
import { ENDPOINTS } from "./endpoints/table.ts";
import { Query } from "./query.ts";
import { type Reply, toErrorReply, toReply } from "./reply.ts";
import type { Route } from "./router.ts";
import type { Shapes } from "./shapes.ts";
import type { World } from "./world.ts";

/** What the console's own work depends on besides the request. */
export interface Site {
  readonly world: World;
  readonly shapes: Readonly<Shapes>;
  readonly keyPropagationMs: number;
}

export interface Arrived {
  /** `undefined`: a call that is not shown. */
  readonly route: Route | undefined;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
  /** Why the body is not JSON. */
  readonly bodyProblem?: string | undefined;
  /** Whose call it is, where that was found out before. */
  readonly principal?: Principal | undefined;
}

/** The whole of the console's own work on a call, in one synchronous step that commits. */
export function decide(
  { world, shapes, keyPropagationMs }: Site,
  { route, query, headers, body, bodyProblem, principal: known }: Arrived,
  onPrincipal: (principal: Principal) => void = () => undefined,
): Reply {
  const now = world.clock.now();
  try {
    if (route === undefined) throw new ApiError(404, "no such call");
    const principal = known ?? authenticate(world, route.shape.auth, headers);
    onPrincipal(principal);
    if (principal.kind !== "anonymous") requireHeaders({ headers, shapes }, route.shape.family);
    if (bodyProblem !== undefined) throw invalid(["body"], bodyProblem);
    const answer = ENDPOINTS[route.operation]({
      world,
      shapes,
      principal,
      params: route.params,
      query: new Query(query),
      headers,
      body,
      keyPropagationMs,
    });
    return toReply(answer, shapes, now);
  } catch (error) {
    const problem =
      error instanceof ApiError ? error : new ApiError(500, `the server failed: ${String(error)}`);
    return toErrorReply(problem, shapes, now);
  }
}
