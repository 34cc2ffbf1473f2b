/** One entry of an archive, as every reader of a format gives it: nothing in it has been checked. */

export type Entry = {
  /** As the archive spells it, in one text even where its bytes are none. */
  name: string
} & Content

export type Content =
  | {
      kind: 'file'
      executable: boolean
      /** Read to its end before the next entry. */
      body: AsyncIterable<Uint8Array>
    }
  | { kind: 'directory' }
  /** `target` is relative to the folder of the link. */
  | { kind: 'symlink'; target: string }
  /** `target` is the name of another entry. */
  | { kind: 'hard-link'; target: string; executable: boolean }
  | {
      /** What no site has, such as a device, or what the format cannot tell without doubt. */
      kind: 'refused'
      code: 'type_refused' | 'name_invalid'
      /** A clause for customers: "this is a device". */
      reason: string
    }
