/** Where a connection's credentials go; also what tells one console from another. */
export function originOf(baseURL: string): string {
  return URL.canParse(baseURL) ? new URL(baseURL).origin : baseURL;
}
