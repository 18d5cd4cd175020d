// A question above everything else, which keeps the focus until it is answered.

import { useEffect, useId, useRef, type ReactNode } from "react";

interface DialogProps {
  readonly title: string;
  readonly isWide?: boolean;
  readonly children: ReactNode;
  /** Called for Escape. */
  readonly onClose: () => void;
}

export function Dialog({ title, isWide, children, onClose }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={isWide === true ? "dialog is-wide" : "dialog"}
      aria-labelledby={id}
      onKeyDown={(event) => {
        // Not also for what lies below.
        event.stopPropagation();
        if (event.key === "Escape") {
          event.preventDefault();
          event.nativeEvent.stopImmediatePropagation();
          onClose();
        }
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
