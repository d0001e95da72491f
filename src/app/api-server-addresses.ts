/** The API server's addresses, which tenants' Connections must not reach. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { HttpError } from "../http/http.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/errors.ts";
import { endpointSliceType } from "../kube/resource-types.ts";
import type { Log } from "../util/log.ts";
import { type Clock, MINUTE } from "../util/time.ts";

export interface ApiServerAddresses {
  /** All known addresses; before the first refresh, only the hosts that are addresses. */
  current(): readonly string[];
  /**
   * Reads the addresses unless they were read within the last ten minutes. Rejects with HttpError `refused` if the
   * addresses have never been read; after a later failure, the known addresses stay.
   */
  refresh(): Promise<void>;
}

interface ApiServerAddressesOptions {
  /** Names or addresses at which the operator itself reaches the API server. */
  readonly hosts: readonly string[];
  /** Reads the API server's EndpointSlice; absent without the permission. */
  readonly kube: Pick<KubeClient, "get"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves a name to its addresses; DNS by default. */
  readonly resolve?: ((name: string) => Promise<readonly string[]>) | undefined;
}

const KEPT_MS = 10 * MINUTE;
const RETRY_MS = MINUTE;
/** The API servers maintain this EndpointSlice. */
const ENDPOINTS = { namespace: "default", name: "kubernetes" };

export function createApiServerAddresses(options: ApiServerAddressesOptions): ApiServerAddresses {
  const { hosts, kube, clock, log, resolve = resolveName } = options;
  const literal = hosts.filter((host) => isIP(host) !== 0);
  const names = hosts.filter((host) => isIP(host) === 0);
  let known: readonly string[] | undefined;
  let dueAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  let isForbiddenLogged = false;

  const readEndpoints = async (): Promise<readonly string[]> => {
    try {
      const slice = await kube?.get(endpointSliceType, ENDPOINTS);
      return (slice?.endpoints ?? []).flatMap(({ addresses = [] }) => addresses);
    } catch (error) {
      if (!isKubeError(error, "Forbidden")) throw error;
      if (!isForbiddenLogged)
        log.info(
          {},
          "no permission to read the API server's EndpointSlice; Connections are kept from its Service address only",
        );
      isForbiddenLogged = true;
      return [];
    }
  };

  const read = async (): Promise<void> => {
    try {
      const [endpoints, ...resolved] = await Promise.all([readEndpoints(), ...names.map(resolve)]);
      const all = [...literal, ...endpoints, ...resolved.flat()];
      known = all.filter((address) => isIP(address) !== 0);
      dueAt = clock.monotonic() + KEPT_MS;
    } catch (cause) {
      if (known === undefined)
        throw new HttpError("refused", "the API server's addresses are not known yet", { cause });
      dueAt = clock.monotonic() + RETRY_MS;
    }
  };

  return {
    current: () => known ?? literal,
    refresh: async () => {
      if (clock.monotonic() < dueAt) return;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
    },
  };
}

async function resolveName(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}
