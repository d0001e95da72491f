/** The cluster's DNS: names of Services, as they stand in the API server when somebody asks. */
import { createSocket, type RemoteInfo } from "node:dgram";
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, type Packet } from "dns-packet";

const NO_SUCH_NAME = 3;
const PORT = 53;
const TTL_SECONDS = 1;

/** The address of a Service; `undefined` where there is none. */
export type FindService = (namespace: string, name: string) => Promise<string | undefined>;

/** Answers at `address` until the returned function is called. */
export async function serveDns(address: string, find: FindService): Promise<() => void> {
  const socket = createSocket("udp4");
  socket.on("message", (message, from) => void answer(message, from));
  await new Promise<void>((listening, failed) => {
    socket.once("error", failed).bind(PORT, address, listening);
  });
  return () => socket.close();

  async function answer(message: Buffer, { port, address: to }: RemoteInfo): Promise<void> {
    const reply = await replyTo(decode(message), find).catch(() => undefined);
    if (reply !== undefined) socket.send(encode(reply), port, to);
  }
}

async function replyTo({ id, questions = [] }: Packet, find: FindService): Promise<Packet> {
  const [question] = questions;
  const [, name, namespace] =
    /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc\.cluster\.local$/i.exec(question?.name ?? "") ?? [];
  const found = name && namespace ? await find(namespace, name) : undefined;
  const answers: Answer[] =
    question?.type === "A" && found !== undefined
      ? [{ type: "A", name: question.name, ttl: TTL_SECONDS, data: found }]
      : [];
  const flags = AUTHORITATIVE_ANSWER | (found === undefined ? NO_SUCH_NAME : 0);
  return { type: "response", ...(id === undefined ? {} : { id }), flags, questions, answers };
}
