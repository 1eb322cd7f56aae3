/** A copy of which one bit is another. */
export function flipped(bytes: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[bit >> 3]! ^= 1 << (bit & 7)
  return copy
}
