/** The address of a visitor, as the log of a site may have it. */
import { describeAddress, shortenAddress } from '../limiter/address.ts'

/** @param isShort to write its network alone. @returns "" for a text that is no address */
export const visitorAddress = (text: string, isShort: boolean): string =>
  isShort ? shortenAddress(text) : (describeAddress(text)?.address ?? '')
