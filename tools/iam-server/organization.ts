import type { Principal } from "./authentication.ts";

/** The organization a caller belongs to; membership alone permits nothing. */
export function homeOrganization(principal: Principal): string {
  switch (principal.kind) {
    case "anonymous":
      return "-";
    case "user":
      return principal.user.orgId;
    case "account":
      return principal.account.orgId;
  }
}

/** The project a caller belongs to; users belong to none. */
export function homeProject(principal: Principal): string {
  return principal.kind === "account" ? principal.account.projectId : "-";
}
