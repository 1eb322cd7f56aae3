// Notices a new snapshot, so that the page renews its figures: an answer that costs the server nothing is asked for every 15 s.
import { isSignedOut, send } from './client.ts'

const EVERY_MS = 15_000

export function followSnapshot(): void {
  let tag: string | null = null
  const look = async () => {
    if (document.hidden || isSignedOut.value) return
    const response = await send('v1/metrics', tag ? { headers: { 'If-None-Match': tag } } : {}).catch(() => null)
    tag = response?.headers.get('ETag') ?? tag
  }
  setInterval(look, EVERY_MS)
  document.addEventListener('visibilitychange', look)
}
