/** A service manager's end of the notify protocol: a real datagram socket that records what it is told. */
import { dlopen, FFIType } from 'bun:ffi'
import { libc } from '../../src/system/libc.ts'

const AF_UNIX = 1
const SOCK_DGRAM = 2
const MSG_DONTWAIT = 0x40
const { i32, u32, i64, u64, ptr } = FFIType

const receiving = dlopen('libc.so.6', {
  bind: { args: [i32, ptr, u32], returns: i32 },
  recv: { args: [i32, ptr, u64, i32], returns: i64 },
  close: { args: [i32], returns: i32 },
}).symbols

export type NotifySocket = ReturnType<typeof openNotifySocket>

/** @param address a path, or an abstract name behind `@` */
export function openNotifySocket(address: string) {
  const name = Buffer.from(address)
  if (address.startsWith('@')) name[0] = 0
  const target = Buffer.concat([new Uint8Array(new Uint16Array([AF_UNIX]).buffer), name])
  const socket = libc().socket(AF_UNIX, SOCK_DGRAM, 0)
  if (receiving.bind(socket, target, target.byteLength) !== 0) throw new Error(`cannot bind ${address}`)
  const received: string[] = []
  const buffer = Buffer.alloc(4096)

  return {
    /** Everything up to now, in order. */
    messages(): string[] {
      for (;;) {
        const length = Number(receiving.recv(socket, buffer, buffer.byteLength, MSG_DONTWAIT))
        if (length < 0) return received
        received.push(buffer.toString('utf8', 0, length))
      }
    },
    close: () => receiving.close(socket),
  }
}
