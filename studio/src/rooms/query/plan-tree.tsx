// How a query was answered: its steps as a tree, each with a bar where its time lies in the whole.

import { useState, type ReactNode } from "react";
import type { Plan, PlanStep } from "../../api/plans";
import { formatBytes, formatCount, formatNanoseconds } from "../../format";
import { Icon } from "../../parts/icon";
import { visible, visibleLines } from "../../visible";

export function PlanTree({ plan }: { readonly plan: Plan }): ReactNode {
  if (plan.root === null) {
    return (
      <div className="plan" tabIndex={0} role="region" aria-label="Plan">
        <pre>{visibleLines(plan.text)}</pre>
        <p className="is-quiet">
          Nothing was run. <code>explain analyze</code> runs the query and shows what each step cost.
        </p>
      </div>
    );
  }
  const lines = linesOf(plan.root, 0, 0, "0");
  return <PlanTable lines={lines} whole={Math.max(1, plan.root.nanoseconds)} />;
}

interface PlanLine {
  /** Slots from the root down; a part's key begins with its parent's. */
  readonly key: string;
  readonly step: PlanStep;
  readonly depth: number;
  /** Where its bar begins, in nanoseconds: behind the parts before it. */
  readonly start: number;
}

function linesOf(step: PlanStep, depth: number, start: number, key: string): PlanLine[] {
  let next = start;
  const parts = step.parts.flatMap((part, slot) => {
    const lines = linesOf(part, depth + 1, next, `${key}.${slot}`);
    next += part.nanoseconds;
    return lines;
  });
  return [{ key, step, depth, start }, ...parts];
}

interface PlanTableProps {
  readonly lines: readonly PlanLine[];
  /** Nanoseconds of the whole query. */
  readonly whole: number;
}

function PlanTable({ lines, whole }: PlanTableProps): ReactNode {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const isHidden = ({ key }: PlanLine): boolean =>
    [...folded].some((parent) => key.startsWith(`${parent}.`));
  const toggle = (key: string): void => {
    const next = new Set(folded);
    if (!next.delete(key)) {
      next.add(key);
    }
    setFolded(next);
  };
  return (
    <div className="plan" tabIndex={0} role="region" aria-label="Plan">
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col" className="at-end">
              Found
            </th>
            <th scope="col" className="at-end">
              Time
            </th>
            <th scope="col" className="plan-where">
              Where the time went
            </th>
            <th scope="col" className="at-end plan-pages">
              Read
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.filter((line) => !isHidden(line)).map((line) => (
            <PlanRow
              key={line.key}
              line={line}
              whole={whole}
              isFolded={folded.has(line.key)}
              onFold={() => toggle(line.key)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface PlanRowProps {
  readonly line: PlanLine;
  readonly whole: number;
  readonly isFolded: boolean;
  readonly onFold: () => void;
}

function PlanRow({ line, whole, isFolded, onFold }: PlanRowProps): ReactNode {
  const { step, depth, start } = line;
  const found = step.found === null ? "" : `${formatCount(step.found.count)} ${step.found.unit}`;
  const own = step.nanoseconds - step.parts.reduce((sum, part) => sum + part.nanoseconds, 0);
  return (
    <tr>
      <th scope="row" style={{ paddingInlineStart: `${10 + depth * 18}px` }}>
        <span className="plan-step">
          {step.parts.length > 0 ? (
            <button
              type="button"
              className="plan-fold"
              aria-expanded={!isFolded}
              aria-label={isFolded ? "Unfold" : "Fold"}
              onClick={onFold}
            >
              <Icon name={isFolded ? "right" : "down"} />
            </button>
          ) : (
            <span className="plan-leaf" />
          )}
          <span title={visible(step.name)}>{visible(step.name)}</span>
        </span>
      </th>
      <td className="at-end">{found}</td>
      <td className="at-end" title={`${formatNanoseconds(Math.max(0, own))} without its parts`}>
        {formatNanoseconds(step.nanoseconds)}
      </td>
      <td className="plan-where">
        <PlanBar step={step} start={start} whole={whole} />
      </td>
      <td className="at-end plan-pages is-quiet">
        {step.pages > 0 && `${formatCount(step.pages)} pages, ${formatBytes(step.pageBytes)}`}
      </td>
    </tr>
  );
}

interface PlanBarProps {
  readonly step: PlanStep;
  readonly start: number;
  readonly whole: number;
}

function PlanBar({ step, start, whole }: PlanBarProps): ReactNode {
  const percent = (part: number): number => Math.min(100, (part / whole) * 100);
  const share = Math.round(percent(step.nanoseconds));
  const waited = step.waited > 0 ? `, ${formatNanoseconds(step.waited)} of it waiting` : "";
  const label = `${share} % of the time${waited}`;
  return (
    <svg
      className="plan-bar"
      viewBox="0 0 100 10"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <rect className="plan-bar-ground" width="100" height="10" />
      <rect
        className="plan-bar-time"
        x={percent(start)}
        width={Math.max(0.6, percent(step.nanoseconds))}
        height="10"
      />
      {step.waited > 0 && (
        <rect className="plan-bar-waited" x={percent(start)} width={percent(step.waited)} height="10" />
      )}
    </svg>
  );
}
