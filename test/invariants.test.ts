import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs', 'invariants.md'), 'utf8')

/** Items of the page: a number, what holds, and the test that holds it. */
const items = PAGE.split(/^(?=\d+\. )/m)
  .slice(1)
  .map(text => {
    const held = /`(test\/[^`]+\.test\.ts)` › (.+)$/m.exec(text)
    return { number: Number.parseInt(text, 10), file: held?.[1], title: held?.[2]?.trim() }
  })

describe('the page of invariants', () => {
  it('numbers them from 1 without a gap', () => {
    expect(items.map(item => item.number)).toEqual(items.map((_, index) => index + 1))
    expect(items.length).toBeGreaterThan(20)
  })

  it.each(items)('names a test that is there for number $number', ({ file, title }) => {
    expect(file).toBeDefined()
    expect(existsSync(join(ROOT, file!))).toBe(true)
    const text = readFileSync(join(ROOT, file!), 'utf8')
    expect(text).toContain(`'${title}'`)
  })
})
