import { z } from "zod";
import { unauthenticated } from "../api-error.ts";
import { type Endpoint, envelope, parseBody } from "../call.ts";

const Body = z.object({ username: z.string(), password: z.string(), domain: z.string() });

/** Call 1: a user token, or `mfaRequired` and no token. */
export const login: Endpoint = ({ world, body }) => {
  const { username, password, domain } = parseBody(Body, body);
  const user = world.users.get(username);
  if (user === undefined || user.domain !== domain) throw unauthenticated("login failed");
  if (user.locked) throw unauthenticated("user is locked");
  if (user.password !== password) {
    user.failedLogins += 1;
    user.locked = user.failedLogins >= (world.settings.lockAfterFailedLogins ?? Infinity);
    throw unauthenticated("login failed");
  }
  user.failedLogins = 0;
  if (user.mfaRequired) return envelope({ accessToken: null, mfaRequired: true });
  return envelope({ accessToken: world.openSession(username), mfaRequired: false });
};
