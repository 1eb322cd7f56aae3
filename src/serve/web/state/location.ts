// The address is the state: page, period, filters, and what is open in a tile. Back and links work because of it.
import { computed, signal } from '@preact/signals'

const base = new URL(document.baseURI).pathname

/** Decodes what an address has; text that is no encoding stays. */
export function decoded(text: string, decode: (text: string) => string = decodeURIComponent): string {
  try {
    return decode(text)
  } catch {
    return text
  }
}

function read(): { path: string; query: URLSearchParams } {
  // A second slash at the start would make links lead to another host.
  const below = location.pathname.slice(base.length).replace(/^\/+/, '')
  return { path: decoded(below, decodeURI), query: new URLSearchParams(location.search) }
}

const current = signal(read())

/** Path below the base: `quality`, `conversations/W/A/ID`; empty for the first page. */
export const path = computed(() => current.value.path)

export const query = computed(() => current.value.query)

addEventListener('popstate', () => {
  current.value = read()
})

export type Changes = Readonly<Record<string, string | null>>

/** What stays when the reader goes to another page. */
const KEPT = ['period', 'workspace', 'agent', 'organization', 'channel']

/** Returns the address of a page with the present filters. `changes`: null removes a parameter. */
export function addressOf(page: string, changes: Changes = {}): string {
  const kept = [...query.value].filter(([name]) => KEPT.includes(name))
  return address(page, new URLSearchParams(kept), changes)
}

function address(page: string, params: URLSearchParams, changes: Changes): string {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) params.delete(name)
    else params.set(name, value)
  }
  const search = params.toString()
  return `${base}${page}${search && `?${search}`}`
}

/** Returns the address of this page with other parameters. */
export const here = (changes: Changes): string => address(path.value, new URLSearchParams(query.value), changes)

export function go(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  const before = current.value.path
  current.value = read()
  if (!replace && before !== current.value.path) scrollTo(0, 0)
}

/** Follows links to our own pages without loading the document again. */
export function followLinks(): void {
  document.addEventListener('click', event => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = (event.target as Element).closest('a')
    if (!link?.href || link.target || link.hasAttribute('download')) return
    const url = new URL(link.href)
    if (url.origin !== location.origin || !url.pathname.startsWith(base) || url.hash) return
    event.preventDefault()
    go(url.pathname + url.search)
  })
}
