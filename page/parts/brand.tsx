/** The mark and the name. */

export function Brand() {
  return (
    <div class="brand">
      <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
        <path d="M11 22V10m0 5.5c1-2 2.8-3 5-3 3 0 5 1.8 5 5V22" />
      </svg>
      ncp
    </div>
  )
}
