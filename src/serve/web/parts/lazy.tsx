// A component whose code is loaded when it is first shown.
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failed, Skeleton } from './states.tsx'

const PROBLEM = {
  code: 'PAGE',
  what: 'This part of the dashboard could not be loaded.',
  hint: 'The server may have been updated: reload the page.',
}

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): (props: P) => preact.JSX.Element {
  let loaded: ComponentType<P> | null = null
  return props => {
    const [Shown, setShown] = useState(() => loaded)
    const [hasFailed, setFailed] = useState(false)
    useEffect(() => {
      if (loaded === null)
        load().then(
          found => {
            loaded = found
            setShown(() => found)
          },
          () => setFailed(true),
        )
    }, [])
    if (hasFailed) return <Failed problem={PROBLEM} again={() => location.reload()} />
    return Shown ? <Shown {...props} /> : <Skeleton height={240} />
  }
}
