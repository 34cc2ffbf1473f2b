/** The views of a user's own account, in a script of their own. */
export { Keys } from '../keys/keys.tsx'
export { Account } from './account.tsx'
export { EnrolmentRequired } from './enrolment-required.tsx'
