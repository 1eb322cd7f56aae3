// A button that opens a small panel; Escape, a click elsewhere or a choice closes it.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

type Item = (text: string, choose: () => unknown, state?: { isOn?: boolean; disabled?: boolean }) => ComponentChildren

interface MenuProps {
  /** What the button shows, and its name where that is no text. */
  button: ComponentChildren
  label?: string
  class?: string
  /** `item` draws a choice. */
  children: (item: Item, close: () => void) => ComponentChildren
}

export function Menu({ button, label, class: name = 'menu', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const whole = useRef<HTMLDivElement>(null)
  const trigger = useRef<HTMLButtonElement>(null)
  const id = useId()
  useEffect(() => {
    if (!isOpen) return
    const onPointer = (event: Event) => {
      if (!whole.current?.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', onPointer)
    document.addEventListener('focusin', onPointer)
    whole.current?.querySelector<HTMLElement>('.panel input, .panel button, .panel a')?.focus()
    return () => {
      document.removeEventListener('pointerdown', onPointer)
      document.removeEventListener('focusin', onPointer)
    }
  }, [isOpen])
  const close = () => {
    setOpen(false)
    trigger.current?.focus()
  }
  const item: Item = (text, choose, { isOn, disabled } = {}) => (
    <button
      type="button"
      class="plain"
      aria-pressed={isOn}
      disabled={disabled}
      onClick={() => {
        close()
        choose()
      }}
    >
      {text}
    </button>
  )
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen) return
    event.stopPropagation()
    close()
  }
  return (
    <div class={name} ref={whole} onKeyDown={onKeyDown}>
      <button
        type="button"
        ref={trigger}
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {button}
      </button>
      {/* It takes the focus that a click on a text in it gives, which would else go to the page and close it. */}
      {isOpen && (
        <div class="panel floating" id={id} tabIndex={-1}>
          {children(item, close)}
        </div>
      )}
    </div>
  )
}
