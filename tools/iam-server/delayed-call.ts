/** What can be done with a call that has arrived: at once or later, once or twice, or from an older state. */
import { authenticate, type Principal } from "./authentication.ts";
import { type Arrived, decide, type Site } from "./decide.ts";
import { LISTS } from "./operations.ts";
import type { Reply } from "./reply.ts";

export interface DelayedCall {
  /** Does it, once for each time that it is called; a list is answered from what was so `behindMs` ago. */
  commit(behindMs?: number): Reply;
  /** Lets it in by the credentials that are valid now, to be done when the result is called. */
  accept(): () => Reply;
}

export function delayedCallOf(
  site: Site & { readonly listsBehindMs: number },
  arrived: Arrived,
  onPrincipal?: (principal: Principal) => void,
): DelayedCall {
  const commit = (behindMs = 0, principal?: Principal) => {
    const isList = LISTS.has(arrived.route?.operation);
    const lagMs = isList ? Math.max(behindMs, site.listsBehindMs) : 0;
    const world = lagMs > 0 ? site.world.asOf(site.world.clock.now() - lagMs) : site.world;
    return decide({ ...site, world }, { ...arrived, principal }, onPrincipal);
  };
  return {
    commit,
    accept: () => {
      const principal = principalOf(site, arrived);
      return () => commit(0, principal);
    },
  };
}

/** `undefined`: the call is to be refused when it is done. */
function principalOf({ world }: Site, { route, headers }: Arrived): Principal | undefined {
  try {
    return route && authenticate(world, route.shape.auth, headers);
  } catch {
    return undefined;
  }
}
