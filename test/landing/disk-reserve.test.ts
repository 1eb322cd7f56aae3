import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { homeUnusable } from '../../src/core/disk.ts'
import { keepReserve, withReserve } from '../../src/landing/disk-reserve.ts'
import { temporaryHome } from './temporary-home.ts'

const full = () => homeUnusable('/data/page', Object.assign(new Error('full'), { code: 'ENOSPC' }))

describe('the disk reserve', () => {
  it('is created once, readable by its owner only', async () => {
    const root = await temporaryHome()
    await keepReserve(root)
    const file = join(root, '.room', 'bytes')
    const made = await stat(file)
    expect([made.size, made.mode & 0o777]).toEqual([4 * 1024 * 1024, 0o600])
    await keepReserve(root)
    expect((await stat(file)).mtimeMs).toBe(made.mtimeMs)
    expect(await readdir(join(root, '.room'))).toHaveLength(33)
  })

  it('is released if the disk is full; the work is done in it, and the error is still thrown', async () => {
    const root = await temporaryHome()
    await keepReserve(root)
    const attempts: string[][] = []
    const work = async () => {
      attempts.push(await readdir(root))
      if (attempts.length === 1) throw full()
    }
    await expect(withReserve(root, work)).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    expect(attempts).toEqual([['.room'], []])
    await keepReserve(root)
    expect(await readdir(root)).toEqual(['.room'])
  })

  it('stays if another error is thrown', async () => {
    const root = await temporaryHome()
    await keepReserve(root)
    const refused = homeUnusable('/data/page', Object.assign(new Error('no'), { code: 'EACCES' }))
    await expect(withReserve(root, () => Promise.reject(refused))).rejects.toBe(refused)
    expect(await readdir(root)).toEqual(['.room'])
  })
})
