/** Lets a new listener of this process take over the port of an older one without losing a connection. */
import { ptr } from 'bun:ffi'
import { libc } from './libc.ts'
import { openDescriptors } from './open-files.ts'

/** Of Linux, the same on x86-64 and arm64. */
const SOL_SOCKET = 1
const SO_REUSEPORT = 15
const SO_ACCEPTCONN = 30
const SO_ATTACH_REUSEPORT_CBPF = 51
/** The BPF instruction `return k`. */
const BPF_RET_K = 0x06

const SOCKET_ADDRESS_BYTES = 128

/**
 * A panel starts with the port for itself alone (`listen`), and shares it only with its own successors: another
 * panel, which asks for the port alone, is still refused. Closing the older listener at once would reset what waits in
 * its queue; hence a program in the kernel that sends every new connection to the newest.
 *
 * @param port on which one listener of this process is open
 */
export function sharePort(port: number) {
  /** The sockets as the kernel keeps them: a new one goes to the end, and the last one replaces one that is closed. */
  let order = listenersOn(port)
  let newest: number | undefined
  // Kept here, since the kernel reads it through a pointer that keeps nothing alive.
  const instruction = new DataView(new ArrayBuffer(8))

  function sendAllTo(socket: number): void {
    instruction.setUint16(0, BPF_RET_K, true)
    instruction.setUint32(4, order.indexOf(socket), true)
    // struct sock_fprog: a length, and the pointer at its natural place.
    const program = new DataView(new ArrayBuffer(16))
    program.setUint16(0, 1, true)
    program.setBigUint64(8, BigInt(ptr(instruction)), true)
    setOption(socket, SO_ATTACH_REUSEPORT_CBPF, new Uint8Array(program.buffer))
  }

  return {
    /**
     * Opens a listener that gets every new connection from then on. What the older ones have is theirs until it ends.
     *
     * @param listen opens it, with SO_REUSEPORT
     * @throws Error when the system cannot do it; then the older ones go on as before
     */
    takeOver<Listener extends { stop(): unknown }>(listen: () => Listener): Listener {
      for (const socket of order) setOption(socket, SO_REUSEPORT, new Int32Array([1]))
      const listener = listen()
      const older = order
      try {
        const opened = listenersOn(port).find((socket) => !older.includes(socket))
        if (opened === undefined) throw new Error('the new listener was not found')
        order = [...older, opened]
        sendAllTo(opened)
        newest = opened
      } catch (error) {
        order = older
        listener.stop()
        throw error
      }
      return listener
    },

    /** To be called right after a listener was closed. */
    closed(): void {
      const open = listenersOn(port)
      if (newest !== undefined && !open.includes(newest)) newest = undefined
      for (const socket of order.filter((known) => !open.includes(known))) {
        const last = order.pop()
        if (last !== undefined && last !== socket) order = order.map((known) => (known === socket ? last : known))
      }
      if (newest !== undefined) sendAllTo(newest)
    },
  }
}

/** @returns the descriptors of this process that listen on `port` */
function listenersOn(port: number): number[] {
  return openDescriptors().filter((descriptor) => isListening(descriptor) && portOf(descriptor) === port)
}

function isListening(descriptor: number): boolean {
  const value = new Int32Array(1)
  const size = new Uint32Array([value.byteLength])
  return libc().getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, value, size) === 0 && value[0] === 1
}

function portOf(descriptor: number): number | undefined {
  const address = new Uint8Array(SOCKET_ADDRESS_BYTES)
  const size = new Uint32Array([SOCKET_ADDRESS_BYTES])
  if (libc().getsockname(descriptor, address, size) !== 0) return undefined
  // In network order behind the family, for IPv4 and IPv6 alike.
  return new DataView(address.buffer).getUint16(2)
}

function setOption(descriptor: number, option: number, value: Int32Array | Uint8Array): void {
  if (libc().setsockopt(descriptor, SOL_SOCKET, option, value, value.byteLength) !== 0) {
    throw new Error('the system does not let two listeners share a port')
  }
}
