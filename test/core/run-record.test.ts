import { expect, it } from 'vitest'
import { outcomeText } from '../../src/core/run-record.ts'

it('a run that leaves only history, for which no sessions are reserved, does not say that the quota is used up', () => {
  expect(outcomeText('period-spent')).toBe('stopped, the quota is used up')
  expect(outcomeText('period-spent', true)).toBe('history waits, the sessions left are reserved for new conversations')
  expect(outcomeText('hour-spent', true)).toBe('stopped at the hourly rate limit')
})
