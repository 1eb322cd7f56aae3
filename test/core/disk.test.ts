import { describe, expect, it } from 'vitest'
import { diskErrorCode, homeUnusable } from '../../src/core/disk.ts'

const errno = (code: string) => Object.assign(new Error(`${code}: whatever, write`), { code })

describe('a disk error', () => {
  it.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EFBIG'])('is recognised by its code (%s)', code =>
    expect(diskErrorCode(errno(code))).toBe(code),
  )

  it('is recognised by the message that DuckDB passes on', () =>
    expect(diskErrorCode(new Error('IO Error: Could not write file "/x": No space left on device'))).toBe('ENOSPC'))

  it.each([errno('ENOENT'), new Error('Conversion Error: …'), undefined, null, 'text', 7])(
    'is not recognised in %s',
    other => expect(diskErrorCode(other)).toBeNull(),
  )
})

describe('a data folder that cannot be used', () => {
  it('is reported with its path, the reason in words, the code and a hint', () => {
    const error = homeUnusable('/data/x', errno('EROFS'))
    expect(error).toMatchObject({ code: 'HOME_UNUSABLE', exitCode: 6 })
    expect(error.message).toBe('Cannot use /data/x: the disk is read-only (EROFS).')
    expect(error.hint).toContain('the data folder')
  })

  it('is reported with the bare code if there are no words for it', () =>
    expect(homeUnusable('/data/x', errno('ENOTDIR')).message).toBe('Cannot use /data/x: ENOTDIR.'))
})
