// A worker in JavaScript: the locks of @verrou/core on ioredis. See interop_test.py for what it is told.
import { readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { LockFactory } from "@verrou/core";
import { redisStore } from "@verrou/core/drivers/redis";
import { Redis } from "ioredis";

const client = new Redis({ path: process.argv[2] });
const factory = new LockFactory(redisStore({ connection: client }).factory());
const counter = process.argv[3];
const locks = new Map();

const succeeds = (promise) => promise.then(() => true, () => false);

const verbs = {
  async acquire(key, ttl) {
    const lock = factory.createLock(key, Number(ttl));
    const granted = await lock.acquireImmediately();
    if (granted) locks.set(key, lock);
    return granted;
  },
  release: (key) => succeeds(locks.get(key).release()),
  extend: (key, ttl) => succeeds(locks.get(key).extend(Number(ttl))),
  async count(key, rounds) {
    for (let i = 0; i < Number(rounds); i++) {
      const lock = factory.createLock(key, 20_000);
      if (!(await lock.acquire({ retry: { delay: 1 } }))) return false;
      await writeFile(counter, String(Number(await readFile(counter)) + 1));
      await lock.release();
    }
    return true;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, ...words] = line.split(" ");
  console.log((await verbs[verb](...words)) ? "yes" : "no");
}
client.disconnect();
