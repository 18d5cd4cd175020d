//! A bar for work that knows how much of it is done; nothing where nobody looks.

use std::cell::RefCell;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error, if that is a terminal. Gone when dropped.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    part: RefCell<String>,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:20} {percent:>3}%  {wide_msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress {
            bar,
            part: RefCell::default(),
        }
    }

    /// Shows that `done` of `total` of a part are done.
    pub(crate) fn show(&self, part: &str, done: u64, total: u64) {
        let Some(bar) = &self.bar else { return };
        if *self.part.borrow() != part {
            part.clone_into(&mut self.part.borrow_mut());
            bar.set_message(part.to_owned());
        }
        bar.set_length(total);
        bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
