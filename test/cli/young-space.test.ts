import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const run = promisify(execFile)
const MODULE = join(import.meta.dirname, '..', '..', 'dist', 'src', 'cli', 'young-space.js')

/** MB that the space for young objects takes at most while texts are parsed, in a process that did `before`. */
async function grownTo(before: string): Promise<number> {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8'
    ${before}
    const text = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => ({ id: 'a' + at, in: [at, { at }] })))
    let most = 0
    for (let round = 0; round < 20; round++) {
      const parsed = JSON.parse(text)
      const { space_size } = getHeapSpaceStatistics().find(space => space.space_name === 'new_space')
      most = Math.max(most, space_size / 2 ** 20, parsed.length / 2 ** 40)
    }
    console.log(most)`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
  return Number(stdout)
}

describe('the space for young objects', () => {
  it('grows while much of it is alive, and does not where it is kept small', async () => {
    expect(await grownTo('')).toBeGreaterThan(16)
    expect(await grownTo(`(await import(${JSON.stringify(MODULE)})).keepYoungSpaceSmall()`)).toBeLessThanOrEqual(4)
  })
})
