// What a fault of the stage `page` makes of a page of the export.
import type { ExportPage, PageInput } from '../export-page.ts'
import { deferredPage } from '../export-page.ts'
import { Draw, PURPOSE } from '../random.ts'
import type { ChosenFault } from './faults.ts'

export function meddle(page: ExportPage, input: PageInput, chosen: ChosenFault | undefined): ExportPage {
  switch (chosen?.name) {
    case 'empty-page':
      return deferredPage(input)
    case 'repeated-cursor':
      return { ...page, hasMore: true, nextCursor: input.query.cursor ?? null }
    case 'missing-cursor':
      return { ...page, hasMore: true, nextCursor: null }
    case 'shuffled':
      return { ...page, indices: shuffle(page.indices, chosen.word) }
    default:
      return page
  }
}

/** Fisher and Yates'. */
function shuffle(indices: readonly number[], seed: number): number[] {
  const draw = new Draw(seed, 0, PURPOSE.exportFault)
  const shuffled = [...indices]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = draw.int(0, last)
    ;[shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!]
  }
  return shuffled
}
