import { canonicalHost } from "../util/host.ts";

/** The origin that receives a connection's credentials; it also identifies a console, however its host is spelled. */
export function originOf(baseURL: string): string {
  if (!URL.canParse(baseURL)) return baseURL;
  const url = new URL(baseURL);
  const host = canonicalHost(url.hostname);
  if (!host.includes(":")) url.hostname = host;
  return url.origin;
}
