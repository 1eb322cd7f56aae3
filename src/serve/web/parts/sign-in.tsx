// Exchanges a token for a session. The token is in no address, and stays in no storage of the browser.
import { useState } from 'preact/hooks'
import { type Problem, RequestFailed, signIn } from '../api/client.ts'

export function SignIn() {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      await signIn(token.trim())
      location.reload()
    } catch (error) {
      setProblem(error instanceof RequestFailed ? error.problem : null)
    }
  }
  return (
    <main class="sign-in">
      <form class="dialog floating stack" onSubmit={submit}>
        <h1>Sign in to convohouse</h1>
        <p class="note">
          Paste a token. Whoever runs convohouse creates one with{' '}
          <code>convohouse token create NAME --scope metrics</code>.
        </p>
        <label class="stack">
          Token
          <input
            type="password"
            autocomplete="off"
            required
            value={token}
            onInput={event => setToken(event.currentTarget.value)}
          />
        </label>
        {problem && (
          <p class="bad" role="alert">
            {problem.what} {problem.hint}
          </p>
        )}
        <button type="submit" class="main">
          Sign in
        </button>
      </form>
    </main>
  )
}
