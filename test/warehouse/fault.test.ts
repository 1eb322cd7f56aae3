import { describe, expect, it } from 'vitest'
import { warehouseFault } from '../../src/warehouse/fault.ts'

const FILE = '/data/warehouse.duckdb'

describe('what DuckDB says', () => {
  it('of a fault within itself ends the process’s use of the warehouse, and names what to report', () => {
    const cause = new Error('INTERNAL Error: Attempted to access index 5 within vector of size 3\n\nStack Trace:\n…')
    const fault = warehouseFault(FILE, cause)
    expect(fault).toMatchObject({ code: 'HOME_UNUSABLE', cause, hint: expect.stringContaining('report it') as string })
    expect(fault!.message).toContain(`${FILE}: INTERNAL Error: Attempted to access index 5`)
    expect(fault!.message).not.toContain('Stack Trace')
  })

  it('after it has given up is told with what to do', () => {
    const cause = new Error('FATAL Error: database has been invalidated because of a previous fatal error')
    expect(warehouseFault(FILE, cause)).toMatchObject({ code: 'HOME_UNUSABLE' })
  })

  it('of a landed page is none of the warehouse’s', () => {
    expect(warehouseFault(FILE, new Error('Conversion Error: Could not convert string to INT32'))).toBeNull()
  })
})
