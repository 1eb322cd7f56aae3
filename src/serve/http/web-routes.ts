// The dashboard: one document for all its addresses, and its files. They contain no data, so they need no token.
import { readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Routes } from './app.ts'

/** Scripts, styles and requests come from here alone; nothing inline runs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** `folder`: the built front end, with `index.html` and `assets/`. */
export const webRoutes =
  ({ folder, basePath }: { folder: string; basePath: string }): Routes =>
  app => {
    const page = readFileSync(join(folder, 'index.html'), 'utf8').replace('{base}', basePath)
    const files = new Map(
      readdirSync(join(folder, 'assets')).map(name => [name, readFileSync(join(folder, 'assets', name))]),
    )
    app.get('/assets/:name', (c, next) => {
      const name = c.req.param('name')
      const body = files.get(name)
      if (!body) return next()
      ;(c.env.outgoing as ServerResponse).setHeader('Cache-Control', 'public, max-age=31536000, immutable')
      return c.body(new Uint8Array(body), 200, { 'Content-Type': TYPES[name.split('.').at(-1)!] ?? 'text/plain' })
    })
    app.get('*', (c, next) => {
      const own = c.req.path.slice(basePath.length)
      if (!c.req.header('accept')?.includes('text/html') || /^\/(v1|mcp|assets)(\/|$)/.test(own)) return next()
      ;(c.env.outgoing as ServerResponse).setHeader('Content-Security-Policy', POLICY)
      return c.html(page)
    })
  }
