// Which rows of a long list are on the screen, and where they stand.
//
// Browsers limit the height of an element (Firefox to about 17 million pixels). Longer lists are
// drawn in a body of that height, and the scroll position is stretched over all rows.

import { useCallback, useLayoutEffect, useState, type RefObject } from "react";

export interface VirtualRows {
  /** First row to draw, and the one behind the last. */
  readonly first: number;
  readonly end: number;
  /** First row that is really in sight, and the one behind the last. */
  readonly sightFirst: number;
  readonly sightEnd: number;
  /** Height of the body, and the distance of `first` from its top, in pixels. */
  readonly bodyHeight: number;
  readonly offset: number;
  /** Brings a row into sight with as little movement as possible. */
  readonly reveal: (row: number) => void;
}

const BODY_HEIGHT_MAX = 12_000_000;
/** Rows drawn above and below what is in sight. */
const MARGIN_ROWS = 8;

export function useVirtualRows(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
  headHeight: number,
): VirtualRows {
  const [top, setTop] = useState(0);
  const [view, setView] = useState(0);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) {
      return undefined;
    }
    const measure = (): void => setView(Math.max(0, element.clientHeight - headHeight));
    const follow = (): void => setTop(element.scrollTop);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", follow, { passive: true });
    measure();
    follow();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", follow);
    };
  }, [scroller, headHeight]);

  const wholeHeight = count * rowHeight;
  const bodyHeight = Math.min(wholeHeight, BODY_HEIGHT_MAX);
  const stretch = bodyHeight > view ? Math.max(1, (wholeHeight - view) / (bodyHeight - view)) : 1;
  const scrolled = Math.min(top, Math.max(0, bodyHeight - view));
  const wholeTop = scrolled * stretch;
  const sightFirst = Math.min(count, Math.floor(wholeTop / rowHeight));
  const sightEnd = Math.min(count, Math.ceil((wholeTop + view) / rowHeight));
  const first = Math.max(0, sightFirst - MARGIN_ROWS);
  const end = Math.min(count, sightEnd + MARGIN_ROWS);
  const offset = scrolled + first * rowHeight - wholeTop;

  const reveal = useCallback(
    (row: number) => {
      const element = scroller.current;
      if (element === null) {
        return;
      }
      const now = element.scrollTop * stretch;
      const highest = (row + 1) * rowHeight - view;
      const wanted = Math.min(row * rowHeight, Math.max(now, highest));
      if (wanted !== now) {
        element.scrollTop = wanted / stretch;
      }
    },
    [scroller, stretch, rowHeight, view],
  );
  return { first, end, sightFirst, sightEnd, bodyHeight, offset, reveal };
}
