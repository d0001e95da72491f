import { z } from "zod";
import { unauthenticated } from "../api-error.ts";
import { type Answer, type Endpoint, envelope, nothing, parseBody, record } from "../call.ts";

const Body = z.object({ keyId: z.string(), secret: z.string() });

/** Call 6: whether a pair is usable now. Request and answer are not documented. */
export const validateKey: Endpoint = ({ world, shapes, body }): Answer => {
  const { keyId, secret } = parseBody(Body, body);
  const valid = world.isPair(keyId, secret) && world.whyKeyIsRefused(keyId) === undefined;
  switch (shapes.keyValidation) {
    case "envelope":
      return envelope({ valid });
    case "bare":
      return record(200, { valid });
    case "statusOnly":
      if (!valid) throw unauthenticated("API key is not valid");
      return nothing(204);
  }
};
