// A promise that is resolved from outside: whoever waits for something to happen waits for it.
export interface Deferred {
  promise: Promise<void>
  resolve: () => void
}

export function newDeferred(): Deferred {
  let resolve = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}
