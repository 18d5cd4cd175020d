// Facets: each value with a bar of how many documents have it, the most frequent first.

import { useState, type ReactNode } from "react";
import type { Facet } from "../../api/plans";
import { formatCount } from "../../format";
import { visible } from "../../visible";

const VALUES_AT_ONCE = 50;

export function FacetBars({ facets }: { readonly facets: readonly Facet[] }): ReactNode {
  return (
    <div className="facets" tabIndex={0} role="region" aria-label="Facets">
      {facets.map((facet, slot) => (
        <FacetTable key={slot} facet={facet} />
      ))}
    </div>
  );
}

function FacetTable({ facet }: { readonly facet: Facet }): ReactNode {
  const [shown, setShown] = useState(VALUES_AT_ONCE);
  const values = facet.values.toSorted((left, right) => right.count - left.count);
  const most = Math.max(1, values[0]?.count ?? 0);
  const name = visible(facet.name);
  return (
    <section className="facet" aria-label={name}>
      <h3 title={name}>{name}</h3>
      <table>
        <tbody>
          {values.slice(0, shown).map(({ range, count, sums }) => (
            <tr key={range}>
              <th scope="row" title={visible(range)}>
                {visible(range)}
              </th>
              <td className="facet-count at-end">{formatCount(count)}</td>
              <td className="facet-bar">
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect width={(count / most) * 100} height="10" />
                </svg>
                {sums.map(([title, number]) => (
                  <span key={title} className="is-quiet">
                    {visible(title)}: {number}
                  </span>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown < values.length && (
        <button type="button" className="button" onClick={() => setShown(shown + VALUES_AT_ONCE)}>
          Show more of {formatCount(values.length - shown)}
        </button>
      )}
      {facet.termsLeft > 0 && (
        <p className="is-quiet">
          {formatCount(facet.termsLeft)} further values in {formatCount(facet.hitsLeft)} documents
        </p>
      )}
    </section>
  );
}
