import { describe, expect, it } from 'vitest'
import { diskErrorCode, homeUnusable } from '../../src/core/disk.ts'

const errno = (code: string) => Object.assign(new Error(`${code}: whatever, write`), { code })

describe('what a disk refuses', () => {
  it.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EFBIG'])('is told by its code (%s)', code =>
    expect(diskErrorCode(errno(code))).toBe(code),
  )

  it('is told by the words that DuckDB passes on', () =>
    expect(diskErrorCode(new Error('IO Error: Could not write file "/x": No space left on device'))).toBe('ENOSPC'))

  it.each([errno('ENOENT'), new Error('Conversion Error: …'), undefined, null, 'text', 7])('is not %s', other =>
    expect(diskErrorCode(other)).toBeNull(),
  )
})

describe('a data folder that cannot be used', () => {
  it('says where, why in words and by code, and what to do', () => {
    const error = homeUnusable('/data/x', errno('EROFS'))
    expect(error).toMatchObject({ code: 'HOME_UNUSABLE', exitCode: 6 })
    expect(error.message).toBe('Cannot use /data/x: the disk is read-only (EROFS).')
    expect(error.hint).toContain('the data folder')
  })

  it('names the code where it has no words for it', () =>
    expect(homeUnusable('/data/x', errno('ENOTDIR')).message).toBe('Cannot use /data/x: ENOTDIR.'))
})
