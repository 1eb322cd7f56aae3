import { describe, expect, it } from 'vitest'
import { isInvalidated, warehouseFault } from '../../src/warehouse/fault.ts'

const FILE = '/data/warehouse.duckdb'

describe('an error of DuckDB', () => {
  it('about an internal fault makes the warehouse unusable for the process, and asks for a report', () => {
    const cause = new Error('INTERNAL Error: Attempted to access index 5 within vector of size 3\n\nStack Trace:\n…')
    const fault = warehouseFault(FILE, cause)
    expect(fault).toMatchObject({ code: 'HOME_UNUSABLE', cause, hint: expect.stringContaining('report it') as string })
    expect(fault!.message).toContain(`${FILE}: INTERNAL Error: Attempted to access index 5`)
    expect(fault!.message).not.toContain('Stack Trace')
  })

  it('about an invalidated database is reported with a hint', () => {
    for (const message of [
      'FATAL Error: database has been invalidated because of a previous fatal error',
      'IO Error: Checkpoint failed for database "warehouse". The database has been invalidated. Original error: …',
      'IO Error: Database "warehouse" has been invalidated because checkpointing failed. Detach and reattach it …',
    ]) {
      expect(isInvalidated(new Error(message)), message).toBe(true)
      expect(warehouseFault(FILE, new Error(message)), message).toMatchObject({ code: 'HOME_UNUSABLE' })
    }
  })

  it('about a landed page is not a fault of the warehouse', () => {
    expect(warehouseFault(FILE, new Error('Conversion Error: Could not convert string to INT32'))).toBeNull()
  })
})
