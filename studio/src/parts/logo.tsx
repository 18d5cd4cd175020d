// The bird's head, as in favicon.svg, in the colors of the theme.

import type { ReactNode } from "react";

export function Logo(): ReactNode {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <path
        className="logo-head"
        d="M5 27V14a11 11 0 0 1 17.6-8.8L30 9.6l-6.2 3.2c.1.5.2 1 .2 1.6 0 7-5.2 12.6-12 12.6z"
      />
      <path
        className="logo-nape"
        d="M5 27V14a11 11 0 0 1 4.6-8.9C8 13 10 21 16.5 26.2 15.1 26.7 13.6 27 12 27z"
      />
      <circle className="logo-eye" cx="18.2" cy="11.8" r="3" />
      <circle className="logo-pupil" cx="18.2" cy="11.8" r="1.3" />
    </svg>
  );
}
