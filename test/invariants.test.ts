import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'test', 'invariants.md'), 'utf8')

/** Items of the page: a number, an invariant, and the tests that check it. */
const items = PAGE.split(/^(?=\d+\. )/m)
  .slice(1)
  .map(text => {
    const held = [...text.matchAll(/`(test\/[^`]+\.ts)` › (.+)$/gm)]
    return {
      number: Number.parseInt(text, 10),
      held: held.map(([, file, title]) => ({ file: file!, title: title!.trim() })),
    }
  })

describe('test/invariants.md', () => {
  it('numbers the invariants from 1 without a gap', () => {
    expect(items.map(item => item.number)).toEqual(items.map((_, index) => index + 1))
    expect(items.length).toBeGreaterThan(20)
  })

  it.each(items)('names tests that exist for invariant $number', ({ held }) => {
    expect(held).not.toEqual([])
    for (const { file, title } of held) {
      expect(existsSync(join(ROOT, file))).toBe(true)
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`'${title}'`)
    }
  })
})
