/** Things that go wrong beneath a program: disks that fill up or fail, a directory that cannot be written, a wrong clock. */
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { basename, join } from 'node:path'
import { run } from '../../src/cli/run.ts'

const LIBFAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'

/** Mounting needs root, and a system that lets it. */
export const canMount = process.getuid?.() === 0 && tryMount()
/** Debian has them where only root looks for programs. */
const MAKE_EXT4 = '/usr/sbin/mkfs.ext4'
const CHECK_EXT4 = '/usr/sbin/fsck.ext4'
export const canFailDisk =
  canMount && [MAKE_EXT4, CHECK_EXT4, '/dev/loop-control', '/sys/fs/ext4'].every((path) => existsSync(path))
export const canFakeTime = existsSync(LIBFAKETIME)

function tryMount(): boolean {
  const probe = `/tmp/ncp-mount-${process.pid}`
  mkdirSync(probe)
  try {
    run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', probe])
    run(['umount', probe])
    return true
  } catch {
    return false
  } finally {
    rmSync(probe, { recursive: true, force: true })
  }
}

/** A disk of its own at `path`. Unmount it before the directory is removed. */
export function smallDisk(path: string, megabytes: number) {
  mkdirSync(path)
  run(['mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  const filling = join(path, 'filling')
  return {
    /** Leaves not a byte. */
    fill(): void {
      const file = openSync(filling, 'a')
      for (const size of [65_536, 4096, 1]) {
        try {
          for (;;) writeSync(file, Buffer.alloc(size))
        } catch {
          // Full for this size.
        }
      }
      closeSync(file)
    },
    empty: () => rmSync(filling),
    unmount: () => run(['umount', '-l', path]),
  }
}

/**
 * A file system of its own at `path`, which goes read-only when it finds itself damaged, as that of a server does. Unmount it
 * before the directory is removed.
 */
export function failingDisk(path: string) {
  const image = `${path}.img`
  run(['truncate', '--size', '64M', image])
  run([MAKE_EXT4, '-q', image])
  mkdirSync(path)
  const mount = () => run(['mount', '-o', 'loop,errors=remount-ro', image, path])
  const unmount = () => run(['umount', path])
  mount()
  return {
    /** From now on the kernel refuses every write, also to files that are open. */
    fail(): void {
      const device = run(['findmnt', '--noheadings', '--output', 'SOURCE', path])
      writeFileSync(`/sys/fs/ext4/${basename(device.trim())}/trigger_fs_error`, '1')
    },
    /** What an operator does once no file there is open. */
    repair(): void {
      unmount()
      const { exitCode } = Bun.spawnSync([CHECK_EXT4, '-f', '-p', image])
      // 1: errors were corrected.
      if (exitCode !== 0 && exitCode !== 1) throw new Error(`${CHECK_EXT4} ended with ${exitCode}`)
      mount()
    },
    unmount: () => run(['umount', '-l', path]),
  }
}

/** Makes a directory read-only until it is called. */
export function makeReadOnly(path: string): () => void {
  run(['mount', '--bind', path, path])
  run(['mount', '-o', 'remount,ro,bind', path])
  return () => run(['umount', '-l', path])
}

/** A clock that a program sees instead of the system's, once it is started with this environment. */
export function wrongClock(path: string) {
  const set = (offset: string) => writeFileSync(path, offset)
  set('+0')
  return {
    environment: {
      LD_PRELOAD: LIBFAKETIME,
      FAKETIME_TIMESTAMP_FILE: path,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    /** @param offset from the right time, such as `-1d` or `+2h` */
    set,
  }
}
