// Calls to a server that is away for a moment are made again, as Temporal's client does it of itself. Its timer does not know that the
// client was closed meanwhile: the call that it then makes throws where nobody can catch it, and would end the process.
import { type ConnectionOptions, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client'

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number]
type Call = ReturnType<Interceptor>

/** Of gRPC: nobody waits for an answer any more. */
const CANCELLED = 1

/** A call that ends as soon as it is started. */
const ended = (details: string) =>
  ({
    start(metadata, listener) {
      // Whoever asks once is told of no answer first.
      listener?.onReceiveMessage?.(null)
      listener?.onReceiveStatus?.({ code: CANCELLED, details, metadata })
    },
    sendMessage() {},
    sendMessageWithContext() {},
    startRead() {},
    halfClose() {},
    cancelWithStatus() {},
    getPeer: () => '',
  }) satisfies Partial<Call> as unknown as Call

const unlessClosed: Interceptor = (options, nextCall) => {
  try {
    return nextCall(options) as Call
  } catch (error) {
    return ended((error as Error).message)
  }
}

/** Inmost last. */
export const RETRYING: Interceptor[] = [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), unlessClosed]
