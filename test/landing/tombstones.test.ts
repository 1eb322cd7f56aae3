import { appendFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  erasures,
  forgottenAs,
  NOBODY,
  type Remembered,
  readForgotten,
  recordStep,
  remember,
} from '../../src/landing/tombstones.ts'
import { failureOf } from './landing-contract.ts'
import { temporaryHome } from './temporary-home.ts'

const JANE: Remembered = {
  identifiers: ['email:jane@example.org', 'phone:+491701234567'],
  conversations: [{ workspaceId: 'ws', agentId: 'agent-7', id: 'convo-4711' }],
  countries: ['DE'],
}
const JOHN: Remembered = { identifiers: ['user:john-17'], conversations: [], countries: [] }

const files = (home: string) =>
  ['.forgotten.key', '.forgotten.ndjson'].map(name => join(home, 'landing', name)) as [key: string, log: string]

describe('tombstones', () => {
  it('keep the checksums of the replaced pages in a receipt whose last step was repeated', async () => {
    const home = await temporaryHome()
    const erasure = await remember(home, JOHN, 1)
    await recordStep(home, { erasure, atMs: 2, places: { conversations: 1 }, checksums: ['abc'] })
    await recordStep(home, { erasure, atMs: 3, places: {}, checksums: [] })
    expect(await erasures(home)).toMatchObject([{ places: { conversations: 1 }, checksums: ['abc'] }])
  })

  it('recognise the people whom they were written for, and nobody else', async () => {
    const home = await temporaryHome()
    const read = readForgotten(home)
    expect(await read()).toBe(NOBODY)
    await remember(home, JANE, 1)
    const first = await read()
    await remember(home, JOHN, 2)
    for (const forgotten of [await read(), await readForgotten(home)()]) {
      expect(['email:jane@example.org', 'phone:+491701234567', 'user:john-17'].map(forgotten.hasIdentifier)).toEqual([
        true,
        true,
        true,
      ])
      expect(['email:john@example.org', 'user:+491701234567', ''].map(forgotten.hasIdentifier)).toEqual([
        false,
        false,
        false,
      ])
      const [of] = JANE.conversations
      expect(forgotten.hasConversation(of!)).toBe(true)
      expect(forgotten.hasConversation({ ...of!, agentId: null })).toBe(true)
      for (const other of [{ agentId: 'agent-8' }, { workspaceId: 'ws2' }, { id: 'convo-4712' }])
        expect(forgotten.hasConversation({ ...of!, ...other })).toBe(false)
      expect(forgotten).toMatchObject({ isEmpty: false, namesConversations: true, countries: ['DE'] })
      expect(forgotten.stamp).not.toBe(first.stamp)
    }
    expect(first.hasIdentifier('user:john-17')).toBe(false)
    expect(await read()).toBe(await read())
  })

  it('contain no value of a person, only hashes with a key of their own, and only their owner can read them', async () => {
    const homes = [await temporaryHome(), await temporaryHome()]
    for (const home of homes) await remember(home, JANE, 1)
    const logs = await Promise.all(
      homes.map(async home => {
        expect((await readdir(join(home, 'landing'))).sort()).toEqual(['.forgotten.key', '.forgotten.ndjson'])
        for (const file of files(home)) {
          expect((await stat(file)).mode & 0o777).toBe(0o600)
          expect(await readFile(file, 'utf8')).not.toMatch(/jane|example|1701234567|agent-7|convo-4711/)
        }
        return JSON.parse(await readFile(files(home)[1], 'utf8')) as { identifiers: string[]; conversations: string[] }
      }),
    )
    const hashes = logs.flatMap(({ identifiers, conversations }) => [...identifiers, ...conversations])
    expect(new Set(hashes).size).toBe(8)
    for (const hash of hashes) expect(hash).toMatch(/^[\w-]{27}$/)
  })

  it('answer before they are written as they do afterwards', async () => {
    const home = await temporaryHome()
    await remember(home, JANE, 1)
    for (const forgotten of [forgottenAs(JANE), await readForgotten(home)()]) {
      expect(forgotten.hasIdentifier('email:jane@example.org')).toBe(true)
      expect(forgotten.hasIdentifier('email:john@example.org')).toBe(false)
      expect(forgotten.hasConversation({ workspaceId: 'ws', agentId: null, id: 'convo-4711' })).toBe(true)
    }
  })

  it('survive a torn line, after which further ones are written and read', async () => {
    const home = await temporaryHome()
    const [, log] = files(home)
    await remember(home, JANE, 1)
    await appendFile(log, '\n{"erasure":"abc","atMs":2,"identifiers":["')
    const id = await remember(home, JOHN, 3)
    expect((await erasures(home)).map(erasure => erasure.id)).toHaveLength(2)
    const size = (await stat(log)).size
    await truncate(log, size - 3)
    const forgotten = await readForgotten(home)()
    expect([forgotten.hasIdentifier('email:jane@example.org'), forgotten.hasIdentifier('user:john-17')]).toEqual([
      true,
      false,
    ])
    expect((await erasures(home)).map(erasure => erasure.id)).not.toContain(id)
  })

  it('are refused without their key, or with a damaged one, instead of recognising nobody', async () => {
    const home = await temporaryHome()
    const [key] = files(home)
    await remember(home, JANE, 1)
    const read = readForgotten(home)
    await writeFile(key, 'abc')
    expect(await failureOf(read())).toMatchObject({ code: 'HOME_UNUSABLE', message: expect.stringContaining(key) })
    await rm(key)
    expect(await failureOf(read())).toMatchObject({ code: 'HOME_UNUSABLE', message: expect.stringContaining(key) })
    // A new key would make the tombstones that exist recognise nobody.
    expect(await failureOf(remember(home, JOHN, 2))).toMatchObject({ code: 'HOME_UNUSABLE' })
    expect(await erasures(home)).toHaveLength(1)
  })
})

describe('an erasure', () => {
  it('records what was erased, which target has published it, and that it was lifted', async () => {
    const home = await temporaryHome()
    expect(await erasures(home)).toEqual([])
    const [jane, john] = [await remember(home, JANE, 1), await remember(home, JOHN, 2)]
    expect(await erasures(home)).toMatchObject([
      { id: jane, requestedMs: 1, erasedMs: null, liftedMs: null, identifiers: 2, conversations: 1, places: {} },
      { id: john, requestedMs: 2, erasedMs: null, liftedMs: null, identifiers: 1, conversations: 0, places: {} },
    ])
    await recordStep(home, { erasure: jane, atMs: 3, places: { conversations: 4 } })
    await recordStep(home, { erasure: john, atMs: 4, lifted: true })
    expect(await erasures(home)).toMatchObject([
      { id: jane, requestedMs: 1, erasedMs: 3, liftedMs: null, places: { conversations: 4 } },
      { id: john, erasedMs: null, liftedMs: 4 },
    ])
    const forgotten = await readForgotten(home)()
    expect([forgotten.hasIdentifier('email:jane@example.org'), forgotten.hasIdentifier('user:john-17')]).toEqual([
      true,
      false,
    ])
    await recordStep(home, { erasure: jane, atMs: 5, lifted: true })
    expect((await readForgotten(home)()).isEmpty).toBe(true)
  })

  it('that is lifted leaves another of the same person standing', async () => {
    const home = await temporaryHome()
    const first = await remember(home, JANE, 1)
    await remember(home, JANE, 2)
    await recordStep(home, { erasure: first, atMs: 3, lifted: true })
    expect((await readForgotten(home)()).hasIdentifier('email:jane@example.org')).toBe(true)
  })
})
