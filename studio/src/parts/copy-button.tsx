// Copies a text and says that it did.

import { useState, type ReactNode } from "react";
import { Icon } from "./icon";

interface CopyButtonProps {
  readonly label: string;
  /** Made when it is needed: it may be large. */
  readonly text: () => string;
}

const TOLD_MS = 1500;

export function CopyButton({ label, text }: CopyButtonProps): ReactNode {
  const [told, setTold] = useState<string | null>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      setTold("Copied");
    } catch {
      setTold("Not allowed");
    }
    setTimeout(() => setTold(null), TOLD_MS);
  };
  return (
    <button type="button" className="button" onClick={() => void copy()}>
      <Icon name="copy" />
      {told ?? label}
    </button>
  );
}
