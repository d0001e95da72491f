/** The origin that receives a connection's credentials; it also identifies a console. */
export function originOf(baseURL: string): string {
  return URL.canParse(baseURL) ? new URL(baseURL).origin : baseURL;
}
