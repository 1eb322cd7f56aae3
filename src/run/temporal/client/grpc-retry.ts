// Retries gRPC calls with the SDK's own interceptor. Its retry timer may fire after the client was closed; the call then throws outside
// of any caller and would end the process, so a second interceptor turns that throw into a cancelled call.
import { type ConnectionOptions, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client'

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number]
type Call = ReturnType<Interceptor>

/** gRPC status code. */
const CANCELLED = 1

/** A call that is cancelled as soon as it starts. */
const ended = (details: string) =>
  ({
    start(metadata, listener) {
      // A unary caller expects a message before the status.
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

/** Interceptors, innermost last. */
export const RETRYING: Interceptor[] = [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), unlessClosed]
