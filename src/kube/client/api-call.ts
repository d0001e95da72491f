/** One JSON call to the API server over an injected transport. */
import { HttpError, type HttpRequest, type HttpResponse, type SendHttp } from "../../http/http.ts";
import { parseJson } from "../../util/parse-json.ts";
import type { Clock } from "../../util/time.ts";
import { isKubeError, KubeError } from "../errors.ts";
import { type Query, queryText } from "./api-path.ts";
import { fromHttpError, isRecord, parseStatus, toKubeError } from "./status.ts";

/** How to reach the API server. */
export interface KubeApi {
  /** Without a trailing slash. */
  readonly baseURL: string;
  readonly send: SendHttp;
  readonly clock: Clock;
  readonly userAgent: string;
}

export interface ApiCall {
  /** The action and its object; every error message starts with it. */
  readonly attempted: string;
  readonly method: HttpRequest["method"];
  readonly path: string;
  readonly query?: Query;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: object;
  readonly timeoutMs: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal | undefined;
  /** See {@link HttpRequest.beforeSending}; if it throws a KubeError, the call rejects with this KubeError. */
  readonly beforeSending?: (() => void) | undefined;
}

/** Size limit of one answer. etcd accepts 1.5 MiB per object. */
export const MAX_BYTES = 8 * 2 ** 20;

/** Sends `call` once and resolves to the parsed answer. Rejects with KubeError only. */
export async function callApi(
  api: KubeApi,
  call: ApiCall,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await send(api, call);
  // A proxy's error page or a truncated answer is not JSON.
  const answer = parseJson(response.body.toString("utf8"));
  if (response.status >= 200 && response.status < 300) {
    if (isRecord(answer)) return answer;
    throw new KubeError("MalformedResponse", `${call.attempted}: the answer is not a JSON object`, {
      status: response.status,
    });
  }
  const serverStatus = parseStatus(answer);
  throw toKubeError({ ...response, attempted: call.attempted, serverStatus, now: api.clock.now() });
}

async function send(api: KubeApi, call: ApiCall): Promise<HttpResponse> {
  try {
    return await api.send(toRequest(api, call));
  } catch (error) {
    if (error instanceof HttpError)
      throw isKubeError(error.cause) ? error.cause : fromHttpError(call.attempted, error);
    throw new KubeError("Unavailable", `${call.attempted}: the request could not be made`, {
      cause: error,
    });
  }
}

function toRequest({ baseURL, userAgent }: KubeApi, call: ApiCall): HttpRequest {
  return {
    method: call.method,
    url: `${baseURL}${call.path}${queryText(call.query ?? {})}`,
    headers: {
      accept: call.accept ?? "application/json",
      "user-agent": userAgent,
      ...(call.body === undefined
        ? {}
        : { "content-type": call.contentType ?? "application/json" }),
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    timeoutMs: call.timeoutMs,
    maxBytes: call.maxBytes ?? MAX_BYTES,
    ...(call.signal === undefined ? {} : { signal: call.signal }),
    ...(call.beforeSending === undefined ? {} : { beforeSending: call.beforeSending }),
  };
}
