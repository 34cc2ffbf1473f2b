/** The C library, for the few system calls that Bun has no API for. Linux only. */
import { dlopen, FFIType } from 'bun:ffi'
import { arch } from 'node:process'

/** glibc, and musl as Alpine names it. */
const NAMES = ['libc.so.6', `libc.musl-${arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]

const { i32, u32, u64, i64, i64_fast, ptr, void: none } = FFIType
const FUNCTIONS = {
  socket: { args: [i32, i32, i32], returns: i32 },
  bind: { args: [i32, ptr, u32], returns: i32 },
  listen: { args: [i32, i32], returns: i32 },
  poll: { args: [ptr, u64, i32], returns: i32 },
  fcntl: { args: [i32, i32, i32], returns: i32 },
  flock: { args: [i32, i32], returns: i32 },
  sendto: { args: [i32, ptr, u32, i32, ptr, u32], returns: i32 },
  getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
  setsockopt: { args: [i32, i32, i32, ptr, u32], returns: i32 },
  getsockname: { args: [i32, ptr, ptr], returns: i32 },
  mmap: { args: [ptr, u64, i32, i32, i32, i64], returns: ptr },
  lgetxattr: { args: [ptr, ptr, ptr, u64], returns: i64_fast },
  lsetxattr: { args: [ptr, ptr, ptr, u64, i32], returns: i32 },
  clock_gettime: { args: [i32, ptr], returns: i32 },
  _exit: { args: [i32], returns: none },
  adjtimex: { args: [ptr], returns: i32 },
} as const

type Libc = ReturnType<typeof open>

let loaded: Libc | undefined

/** @throws Error on a system that has none of the libraries */
export function libc(): Libc['symbols'] {
  loaded ??= open()
  return loaded.symbols
}

function open() {
  for (const name of NAMES) {
    try {
      return dlopen(name, FUNCTIONS)
    } catch {
      // The next one.
    }
  }
  throw new Error(`no C library found (${NAMES.join(', ')})`)
}
