// Unusual and malicious ids of a vendor.
import fc from 'fast-check'

export const oddIds = fc.oneof(
  fc.uuid(),
  fc.string({ maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom(
    '',
    '.',
    '..',
    '../x',
    '../../etc/passwd',
    '/',
    '\\',
    '.hidden',
    'a/b',
    'a\0b',
    '%2E',
    '~',
    'x'.repeat(300),
  ),
)
