// Requests to the public routes of `serve`, with errors that say what to do.
import { signal } from '@preact/signals'

export interface Problem {
  code: string
  what: string
  hint?: string
  /** True if it passes by itself: the server is busy, or starts. */
  isPassing?: boolean
}

/** An error that the server answered, or that the network gave. */
export class RequestFailed extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.what)
    this.problem = problem
  }
}

/** The newest as-of that an answer had, as an ISO time. */
export const asOf = signal<string | null>(null)

/** True once an answer was 401: a token is needed. */
export const isSignedOut = signal(false)

/** True while the server cannot be reached. */
export const isOffline = signal(false)

function noteAsOf(response: Response): void {
  const found = response.headers.get('Convohouse-As-Of')
  if (found && (asOf.value === null || found > asOf.value)) asOf.value = found
}

const UNREACHABLE: Problem = {
  code: 'UNREACHABLE',
  what: 'The server does not answer.',
  hint: 'Is `convohouse serve` still running? This page tries again by itself.',
  isPassing: true,
}

const PASSING = [429, 502, 503, 504]

async function problemOf(response: Response): Promise<Problem> {
  const body = (await response.json().catch(() => null)) as { error?: Problem } | null
  const known = body?.error ?? { code: 'HTTP', what: `The server answered ${response.status}.`, hint: 'Try again.' }
  return { ...known, isPassing: PASSING.includes(response.status) }
}

/** Sends a request; its path is below the base. @throws RequestFailed */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(path, { credentials: 'same-origin', ...init })
  } catch (error) {
    if (init.signal?.aborted) throw error
    isOffline.value = true
    throw new RequestFailed(UNREACHABLE)
  }
  isOffline.value = false
  if (response.status === 401) isSignedOut.value = true
  if (!response.ok && response.status !== 304) throw new RequestFailed(await problemOf(response))
  noteAsOf(response)
  return response
}

const JSON_BODY = { 'Content-Type': 'application/json' }

export const getJson = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  (await (await send(path, signal ? { signal } : {})).json()) as T

export const postJson = async <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  (await (
    await send(path, { method: 'POST', headers: JSON_BODY, body: JSON.stringify(body), ...(signal && { signal }) })
  ).json()) as T

export async function signIn(token: string): Promise<void> {
  await send('v1/session', { method: 'POST', headers: JSON_BODY, body: JSON.stringify({ token }) })
  isSignedOut.value = false
}

export async function signOut(): Promise<void> {
  await send('v1/session', { method: 'DELETE' })
  isSignedOut.value = true
}
