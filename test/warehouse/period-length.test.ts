import { describe, expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import { periodLengthMs } from '../../src/warehouse/period-length.ts'
import { temporaryWarehouse } from './temporary-warehouse.ts'

const house = temporaryWarehouse()

/** Days on which a page told of a period, as in `_quota`. */
async function lengthInDays(told: [day: number, key: string][]): Promise<number | null> {
  const { id } = house.workspace()
  const { writer } = house.warehouse
  for (const [day, key] of told)
    await writer.run(
      `INSERT INTO _quota (workspace_id, told_at, period_key) VALUES ('${id}', TIMESTAMP '2026-01-01' + INTERVAL ${day} DAY, '${key}')`,
    )
  const length = await periodLengthMs(writer, id)
  return length === null ? null : length / DAY
}

const twice = (day: number, key: string): [number, string][] => [
  [day, key],
  [day + 1, key],
]

describe('the length of a period', () => {
  it('is not known before one was seen to begin and to end', async () => {
    expect(await lengthInDays([])).toBeNull()
    expect(await lengthInDays([...twice(3, 'a'), ...twice(20, 'b')])).toBeNull()
  })

  it('is that of the one that was', async () => {
    expect(await lengthInDays([...twice(3, 'a'), ...twice(20, 'b'), ...twice(50, 'c')])).toBe(30)
  })

  it('is the median, so that a month in which nobody synced does not count', async () => {
    const told = [...twice(0, 'a'), ...twice(20, 'b'), ...twice(50, 'c'), ...twice(110, 'e'), ...twice(141, 'f')]
    expect(await lengthInDays(told)).toBe(31)
  })

  it('is not cut by a period that a single answer told of', async () => {
    expect(await lengthInDays([...twice(0, 'a'), ...twice(20, 'b'), [30, 'x'], ...twice(50, 'c')])).toBe(30)
  })
})
