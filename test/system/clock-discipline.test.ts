/** The kernel's own word on whether something keeps the clock right. */
import { expect, test } from 'bun:test'
import { isClockSynchronised } from '../../src/system/clock-discipline.ts'

/** A second way to the same call, by Python's own types: the bit STA_UNSYNC of `status`. */
const PROGRAM = `
import ctypes
class Timex(ctypes.Structure):
    _fields_ = [('modes', ctypes.c_uint), ('longs', ctypes.c_long * 4), ('status', ctypes.c_int), ('rest', ctypes.c_char * 512)]
timex = Timex()
ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
print('no' if timex.status & 0x40 else 'yes')`

test('matches what Python reads with the same call', () => {
  const said = Bun.spawnSync(['python3', '-c', PROGRAM]).stdout.toString().trim()
  expect(isClockSynchronised()).toBe(said === 'yes')
})
