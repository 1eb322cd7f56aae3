// `/mcp`: the MCP server over HTTP, stateless: each request is answered by a server with the tools of its token.
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { Scope } from '../access/tokens.ts'
import type { Routes } from '../http/app.ts'
import { type AssistantOptions, assistantServer } from './assistant-server.ts'

/** The application has checked Host, Origin and token before. */
export function mcpRoute(options: Omit<AssistantOptions, 'scopes' | 'caller'>): Routes {
  const handler = createMcpHandler(({ authInfo }) =>
    assistantServer({
      ...options,
      caller: authInfo?.token ?? '',
      scopes: new Set((authInfo?.scopes ?? []) as Scope[]),
    }),
  )
  return app => {
    app.all('/mcp', c => {
      const { token, scopes } = c.get('principal')
      // The name of the token, never the token.
      const authInfo = { token: token ?? '', clientId: token ?? 'local', scopes: [...scopes] }
      return handler.fetch(c.req.raw, { authInfo })
    })
  }
}
