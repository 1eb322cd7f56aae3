// The workspace's crawler jobs and their scraped pages (section 2.9).
import { DAY, MINUTE } from '../../core/time.ts'
import { canary } from './agents/secret-bearing.ts'
import { Draw, mix, PURPOSE } from './random.ts'

export interface CrawlerJob {
  id: string
  /** Number from 0. */
  number: number
  startedMs: number
  /** Ids of its pages. */
  pages: string[]
}

const JOBS = 4

const SITES = ['https://shop.example.com', 'https://help.example.com/de', 'https://例え.example.jp']
const TOPICS = ['returns', 'pricing', 'Garantie', '配送', 'faq', 'contact'] as const
const SENTENCES = [
  'Orders are sent within two working days.',
  'Die Preise verstehen sich **inklusive** Mehrwertsteuer.',
  'La garantie couvre les défauts de fabrication – « sans exception ».',
  '送料は全国一律 500 円です。',
  '| Size | Price |\n|---|---|\n| S | 10 |\n| L | 20 |',
] as const

/** Returns the jobs, deleted ones included. */
export function crawlerJobs({ seed, startMs }: { seed: number; startMs: number }): CrawlerJob[] {
  return Array.from({ length: JOBS }, (_, number) => {
    const draw = new Draw(seed, number, PURPOSE.crawler)
    const id = `job_${draw.hex(16)}`
    const pages = Array.from({ length: draw.int(3, 9) }, () => `page_${draw.hex(16)}`)
    return { id, number, startedMs: startMs - (number + 1) * 10 * DAY, pages }
  })
}

/** Returns `data` of the page with that number (from 0) in its job. The third page of a job could not be scraped. */
export function crawlerPage(seed: number, workspaceId: string, job: CrawlerJob, number: number) {
  const draw = new Draw(mix(seed, job.number), number, PURPOSE.crawlerPage)
  const failed = number === 2
  const site = draw.pick(SITES)
  const topic = draw.pick(TOPICS)
  const urlHash = draw.hex(40)
  const access = canary(`crawler-token-${number}`, job.number)
  const url = `${site}/${encodeURIComponent(topic)}/${number}${number === 1 ? `?lang=de&token=${access}` : ''}`
  const title = `${topic} – ${number + 1}`
  const markdown = failed ? undefined : markdownOf(draw, title)
  const html =
    markdown && `<!DOCTYPE html><html lang="de"><body><p>${markdown.replaceAll('\n\n', '</p><p>')}</p></body></html>`
  const description = draw.some(0.7, `About ${topic}`)
  const imageUrl = draw.some(0.6, `${site}/og/${topic}.png`)
  const links = Array.from({ length: draw.int(0, 30) }, (_, link) => `${site}/${draw.pick(TOPICS)}?page=${link}`)
  return {
    page: {
      id: job.pages[number]!,
      url,
      urlHash,
      title: failed ? null : title,
      description,
      imageUrl,
      userId: workspaceId,
      scrapedAt: job.startedMs + number * MINUTE,
      mdCharCount: markdown?.length ?? 0,
      htmlCharCount: html?.length ?? 0,
      failed,
    },
    content: {
      urlScraped: url,
      urlHash,
      scrapeResponse: {
        metadata: { title, description, ogImage: imageUrl, favicon: `${site}/favicon.ico` },
        urlScraped: url,
        urlsDiscovered: [...links, `${site}/account?access_token=${access}#top`],
        markdown,
        html,
        err: failed ? scrapeError(site, access) : null,
      },
    },
  }
}

/** An error of the proxy, with what a careless library puts into such a message. */
const scrapeError = (site: string, access: string) => ({
  name: 'TimeoutError',
  message: `Navigation to ${site} timed out (proxy http://crawler:${access}@proxy.example.com:8080)`,
  request: { headers: { Authorization: `Bearer ${access}`, Cookie: `sid=${access}` } },
})

/** Writes 2 kB to half a megabyte. */
function markdownOf(draw: Draw, title: string): string {
  const paragraphs = Array.from({ length: draw.logarithmic(40, 10_000) }, () => draw.pick(SENTENCES))
  return [`# ${title}`, ...paragraphs].join('\n\n')
}
