import { expect, test } from "vitest";
import { addFinalizer, hasFinalizer, removeFinalizer } from "../../../src/kube/client/finalizer.ts";
import { isKubeError } from "../../../src/kube/errors.ts";
import { keyOf } from "../../../src/kube/resource.ts";
import { type ConfigMap, configMapType } from "../../../src/kube/resource-types.ts";
import { useNamespace } from "../../real-world/use-namespace.ts";

const OURS = "iam-operator.io/cleanup";
const THEIRS = "example.com/theirs";

const own = useNamespace("finalizer");

function create(name: string, finalizers: readonly string[] = []): Promise<ConfigMap> {
  return own().client.create<ConfigMap>(configMapType, {
    metadata: { namespace: own().namespace, name, finalizers },
  });
}
const read = (object: ConfigMap) => own().client.get(configMapType, keyOf(object));
const remove = (object: ConfigMap) => own().client.delete(configMapType, keyOf(object), {});
const add = (object: ConfigMap) => addFinalizer(own().client, configMapType, object, OURS);
const drop = (object: ConfigMap) => removeFinalizer(own().client, configMapType, object, OURS);

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "no error",
    (error: unknown) => (isKubeError(error) ? error.code : String(error)),
  );
}

test("a finalizer is added beside others, and removed without them", async () => {
  const added = await add(await create("beside", [THEIRS]));
  expect(added.metadata.finalizers).toEqual([THEIRS, OURS]);
  expect(hasFinalizer(added, OURS)).toBe(true);
  const dropped = await drop(added);
  expect(dropped?.metadata.finalizers).toEqual([THEIRS]);
});

test("nothing is written where there is nothing to do", async () => {
  const object = await create("idle");
  const before = own().requests.length;
  expect(await drop(object)).toBe(object);
  const added = await add(object);
  expect(await add(added)).toBe(added);
  expect(own().requests.slice(before)).toEqual(["PATCH 200"]);
});

test("an object vanishes when its last finalizer goes", async () => {
  const object = await add(await create("last"));
  await remove(object);
  const deleted = await read(object);
  expect(deleted?.metadata.deletionTimestamp).toBeDefined();
  await drop(deleted!);
  expect(await read(object)).toBeUndefined();
});

test("no finalizer is added to an object that is being deleted", async () => {
  const object = await create("too-late", [THEIRS]);
  await remove(object);
  const deleted = (await read(object))!;
  expect(await add(deleted)).toBe(deleted);
});

test("an object that has changed since it was read is left alone", async () => {
  const object = await create("changed");
  await own().client.mergePatch(configMapType, keyOf(object), {
    metadata: { finalizers: [THEIRS] },
  });
  expect(await codeOf(add(object))).toBe("Conflict");
  expect((await read(object))?.metadata.finalizers).toEqual([THEIRS]);
});

test("an object that was created anew under its name is left alone", async () => {
  const old = await add(await create("anew"));
  await remove(old);
  await drop((await read(old))!);
  const young = await create("anew", [OURS]);
  expect(await codeOf(drop(old))).toBe("Conflict");
  expect((await read(young))?.metadata.finalizers).toEqual([OURS]);
});

test("removing a finalizer from an object that is gone is as good as done, adding one is not", async () => {
  const object = await create("gone");
  await remove(object);
  expect(await drop({ ...object, metadata: { ...object.metadata, finalizers: [OURS] } })).toBe(
    undefined,
  );
  expect(await codeOf(add(object))).toBe("NotFound");
});
