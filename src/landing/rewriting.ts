// Replaces landed pages whose records must go, under the same addresses and with new checksums. A kill leaves a page
// replaced or unchanged, and perhaps in two bundles, both of which the next call reads again.
import { dirname, join, posix } from 'node:path'
import { hasCode } from '../core/disk.ts'
import { namesIn, removeFiles, replaceFile, sweepTemporary, temporaryName, writeOnce } from '../files/durable.ts'
import { bundlesIn, pageIn, readIndex, readMember, type StoredPage, writeBundle } from './bundle.ts'
import type { Change } from './landing.ts'
import { encodePage, headIn, memberBytes, readPage } from './page.ts'
import { parsePageName } from './page-address.ts'

/** @returns true if the file was replaced or removed */
async function rewriteFile(file: string, address: string, change: Change): Promise<boolean> {
  const page = await readPage(file).catch(error => {
    // A compaction has moved the page to a bundle, which is read later.
    if (hasCode(error.cause, 'ENOENT')) return null
    throw error
  })
  const changed = page && change({ address, ...page })
  if (!changed) return false
  if (changed === 'erase') await removeFiles([file])
  else {
    const temporary = join(dirname(file), temporaryName())
    await writeOnce(temporary, await encodePage(changed.head, changed.body))
    await replaceFile(file, temporary)
  }
  return true
}

async function rewriteBundle(root: string, folder: string, file: string, change: Change): Promise<boolean> {
  const pages: StoredPage[] = []
  let isChanged = false
  for (const [name, entry] of await readIndex(file)) {
    const page = pageIn(name, await readMember(file, entry.member), entry)
    const whole = {
      address: posix.join(folder, name),
      head: headIn(page.head.toString()),
      body: Buffer.from(page.body),
    }
    const changed = change(whole)
    isChanged ||= changed !== null
    if (changed === null) pages.push(page)
    else if (changed !== 'erase') {
      const [head] = await encodePage(changed.head, changed.body)
      pages.push({ name, head: memberBytes(head!), body: changed.body })
    }
  }
  if (!isChanged) return false
  if (pages.length > 0) await writeBundle(root, folder, pages)
  await removeFiles([file])
  return true
}

/**
 * Passes every page of these folders to `change`, and replaces those that it changes.
 * @returns the number of files that were replaced or removed
 * @throws HOME_UNUSABLE, LANDING_CORRUPT
 */
export async function rewriteFolders(root: string, folders: readonly string[], change: Change): Promise<number> {
  let files = 0
  for (const folder of folders) {
    await sweepTemporary(join(root, folder))
    for (const name of await namesIn(join(root, folder)))
      if (parsePageName(name) && (await rewriteFile(join(root, folder, name), posix.join(folder, name), change)))
        files += 1
    for (const file of await bundlesIn(root, folder)) if (await rewriteBundle(root, folder, file, change)) files += 1
  }
  return files
}
