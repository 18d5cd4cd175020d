//! A picture of the rates: a group of bars for each task, relative to our own engine.

use std::fmt::Write;

use super::table::Row;

const WIDTH: f64 = 900.0;
const LABEL_WIDTH: f64 = 220.0;
const BAR_HEIGHT: f64 = 14.0;
const GROUP_GAP: f64 = 26.0;
/// Rates beyond this many times our own are cut, so that one bar does not shrink all others.
const RATIO_MAX: f64 = 3.0;
const OWN_COLOR: &str = "#2563eb";
const PEER_COLOR: &str = "#9ca3af";

/// The picture as SVG. `own` is the engine that the others are measured against.
pub(super) fn rates(rows: &[Row], own: &str) -> String {
    let mut bars = String::new();
    let mut y = 10.0;
    let mut task = "";
    for row in rows {
        if row.task != task {
            task = &row.task;
            y += GROUP_GAP;
            let _ = writeln!(
                bars,
                "<text x='4' y='{:.0}' font-weight='bold'>{task}</text>",
                y - 6.0
            );
        }
        let reference = rows.iter().find(|r| r.task == row.task && r.engine == own);
        let ratio = reference.map_or(0.0, |reference| row.ops_per_s / reference.ops_per_s);
        bar(&mut bars, row, ratio, y, row.engine == own);
        y += BAR_HEIGHT;
    }
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{:.0}' font-family='sans-serif' \
         font-size='11'>\n<rect width='100%' height='100%' fill='white'/>\n{bars}</svg>\n",
        y + 10.0
    )
}

fn bar(out: &mut String, row: &Row, ratio: f64, y: f64, is_own: bool) {
    let room = WIDTH - LABEL_WIDTH - 150.0;
    let length = ratio.min(RATIO_MAX) / RATIO_MAX * room;
    let color = if is_own { OWN_COLOR } else { PEER_COLOR };
    let _ = writeln!(
        out,
        "<text x='{:.0}' y='{:.0}' text-anchor='end'>{}</text>\
         <rect x='{LABEL_WIDTH}' y='{:.0}' width='{length:.1}' height='{:.0}' fill='{color}'/>\
         <text x='{:.0}' y='{:.0}'>{:.0}/s, {ratio:.2} x</text>",
        LABEL_WIDTH - 6.0,
        y + BAR_HEIGHT - 4.0,
        row.engine,
        y + 1.0,
        BAR_HEIGHT - 2.0,
        LABEL_WIDTH + length + 6.0,
        y + BAR_HEIGHT - 4.0,
        row.ops_per_s
    );
}
