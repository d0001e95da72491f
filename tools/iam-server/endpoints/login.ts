import { z } from "zod";
import { unauthenticated } from "../api-error.ts";
import { type Endpoint, envelope, parseBody } from "../call.ts";

const Body = z.object({ username: z.string(), password: z.string(), domain: z.string() });

/** Call 1: a user token, or `mfaRequired` and no token. */
export const login: Endpoint = ({ world, body }) => {
  const { username, password, domain } = parseBody(Body, body);
  const user = world.users.get(username);
  if (user?.domain !== domain || user.password !== password) throw unauthenticated("login failed");
  if (user.mfaRequired) return envelope({ accessToken: null, mfaRequired: true });
  return envelope({ accessToken: world.openSession(username), mfaRequired: false });
};
