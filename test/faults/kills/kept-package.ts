// Keeps the package of a publication, so that it can be applied again and again.

/** The program of a target's process that copies the package of its publication into `folder` (`package.json` and files), and applies nothing. */
export const keeper = (folder: string, watermark: string): string => `
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
const folder = ${JSON.stringify(folder)}
process.once('disconnect', () => process.exit(0))
const contents = { tables: [] }
process.on('message', async ({ kind, head, table }) => {
  if (kind === 'open') return process.send({ kind: 'opened', watermark: ${watermark} })
  if (kind === 'apply') return Object.assign(contents, head)
  if (kind === 'table') return contents.tables.push(table)
  const text = JSON.stringify(contents)
  const [, from] = /"([^"]*[/]publication-[0-9a-f-]+)[/]/.exec(text)
  await cp(from, folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), text.replaceAll(from, folder))
  process.send({ kind: 'failed', code: 'PUBLICATION_FAILED', what: 'only kept', hint: null })
})
`
