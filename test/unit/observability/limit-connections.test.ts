import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { limitConnections } from "../../../src/observability/limit-connections.ts";

async function start(most: number) {
  const server = createServer((_, response) => response.end("ok"));
  limitConnections(server, most);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return async () => {
    const accepted = once(server, "connection");
    const socket = connect(port, "127.0.0.1").resume();
    sockets.push(socket.on("error", () => undefined));
    await Promise.all([accepted, once(socket, "connect")]);
    return socket;
  };
}

async function request(socket: Socket): Promise<void> {
  const answered = once(socket, "data");
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await answered;
}

test("one connection too many closes the one that has been idle for longest", async () => {
  const open = await start(3);
  const [first, second, third] = [await open(), await open(), await open()];
  await request(first);
  const fourth = await open();
  await once(second, "close");
  expect([first, third, fourth].map(({ readyState }) => readyState)).toEqual(Array(3).fill("open"));
  const fifth = await open();
  await once(third, "close");
  expect([first, fourth, fifth].map(({ readyState }) => readyState)).toEqual(Array(3).fill("open"));
});

test("a connection that was closed makes room", async () => {
  const open = await start(2);
  const [first, second] = [await open(), await open()];
  first.destroy();
  await once(first, "close");
  await request(second);
  const third = await open();
  await request(third);
  expect([second, third].map(({ readyState }) => readyState)).toEqual(["open", "open"]);
});
