// A promise that is resolved from outside. `Promise.withResolvers` needs Node 22.
export interface Deferred<T = void> {
  promise: Promise<T>
  resolve: (value: T) => void
}

export function newDeferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>(done => {
    resolve = done
  })
  return { promise, resolve }
}
