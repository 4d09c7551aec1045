// @verrou/core with knex, told what to do line by line: acquire KEY MS, release KEY, extend KEY MS, locked KEY.
//   verrou.mjs better-sqlite3 FILE | pg DIRECTORY
import { createInterface } from 'node:readline'
import { Verrou } from '@verrou/core'
import { knexStore } from '@verrou/core/drivers/knex'
import knex from 'knex'

const [client, place] = process.argv.slice(2)
const connection =
  client === 'pg' ? { host: place, user: 'postgres', database: 'postgres' } : { filename: place }
const database = knex({ client, connection, useNullAsDefault: true })
const store = { driver: knexStore({ connection: database, tableName: 'verrou' }) }
const verrou = new Verrou({ default: 'sql', stores: { sql: store } })

const locks = new Map()
const commands = {
  acquire: async (key, ttl) => {
    const lock = verrou.createLock(key, Number(ttl))
    const granted = await lock.acquireImmediately()
    if (granted) locks.set(key, lock)
    return granted
  },
  release: async (key) => locks.get(key).release().then(() => true),
  extend: async (key, ttl) => locks.get(key).extend(Number(ttl)).then(() => true),
  locked: async (key) => verrou.createLock(key, 1000).isLocked(),
}

for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...words] = line.split(' ')
  const answer = await commands[command](...words).catch((error) => error.message)
  process.stdout.write(`${answer}\n`)
}
await database.destroy()
