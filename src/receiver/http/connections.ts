// The connections of the receiver. At the limit, a new connection replaces the least useful one: that of a slow sender, from an address with
// many connections, that has not delivered an event. So slow senders cannot lock others out.
import type { Socket } from 'node:net'

interface Connection {
  address: string
  /** When the connection was opened or its last request was answered, ms. */
  sinceMs: number
  /** Number of complete requests without an answer. */
  answering: number
  /** True where its last request was an event that was stored. */
  hasDelivered: boolean
}

export class Connections {
  private readonly most: number
  private readonly now: () => number
  private readonly open = new Map<Socket, Connection>()

  constructor(most: number, now: () => number = () => performance.now()) {
    this.most = most
    this.now = now
  }

  /** Registers a connection. Returns the connection that was closed at the limit, which may be the new one; null where none was. */
  add(socket: Socket): Socket | null {
    const dropped = this.open.size < this.most ? null : (this.worst() ?? socket)
    if (dropped !== socket) {
      const address = socket.remoteAddress ?? ''
      this.open.set(socket, { address, sinceMs: this.now(), answering: 0, hasDelivered: false })
      socket.once('close', () => this.open.delete(socket))
    }
    if (dropped) {
      this.open.delete(dropped)
      dropped.destroy()
    }
    return dropped
  }

  /** Called when a request is complete and awaits its answer. */
  answering(socket: Socket): void {
    const connection = this.open.get(socket)
    if (connection) connection.answering += 1
  }

  answered(socket: Socket, isStored: boolean): void {
    const connection = this.open.get(socket)
    if (!connection) return
    connection.answering -= 1
    connection.sinceMs = this.now()
    connection.hasDelivered = isStored
  }

  private worst(): Socket | null {
    const nowMs = this.now()
    const ofAddress = new Map<string, number>()
    for (const { address } of this.open.values()) ofAddress.set(address, (ofAddress.get(address) ?? 0) + 1)
    let worst: Socket | null = null
    let most: [delivered: number, cost: number] = [0, 0]
    for (const [socket, { address, sinceMs, answering, hasDelivered }] of this.open) {
      if (answering > 0) continue
      const cost = (nowMs - sinceMs) * ofAddress.get(address)!
      const rank: typeof most = [hasDelivered ? 0 : 1, cost]
      if (worst !== null && (rank[0] < most[0] || (rank[0] === most[0] && rank[1] <= most[1]))) continue
      worst = socket
      most = rank
    }
    return worst
  }
}
