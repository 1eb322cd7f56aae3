import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { forTerminal } from '../../../src/cli/terminal/controls.ts'
import { errorLines } from '../../../src/cli/terminal/error-text.ts'
import { styleOf } from '../../../src/cli/terminal/style.ts'
import { ConvohouseError } from '../../../src/core/errors.ts'

it('an error that quotes a record reaches a terminal with our own colours and no escape sequence of the record', () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, hasColors: () => true })
  const said = '\u001b[31mred\u001b[2J\u009b\u202e\r'
  const error = new ConvohouseError('SQL_INVALID', { what: `Cannot cast "${said}"\nLINE 1`, hint: said })
  const escaped = '\\u001b[31mred\\u001b[2J\\u009b\\u202e\\r'
  expect(forTerminal(terminal, errorLines(error, styleOf(terminal)).join('\n'))).toBe(
    `\u001b[31merror SQL_INVALID:\u001b[0m Cannot cast "${escaped}"\nLINE 1\n  → ${escaped}`,
  )
  expect(forTerminal(terminal, `a title\u001b]0;x\u0007\tb\n`)).toBe('a title\\u001b]0;x\\u0007\tb\n')
})
